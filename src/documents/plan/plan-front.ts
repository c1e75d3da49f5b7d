/** Reads the settings in the front matter of a plan. */
import { CONFIG_KEYS, JOB_KEYS } from '../job/index.js';
import type { DocumentReading } from './plan-document.js';
import type { PlanFront } from './types.js';
import { checkKeys, describeValue } from '../source/check.js';
import { splitFrontMatter } from '../source/front-matter.js';
import { base, repository, SHARED } from '../source/schemas.js';
import { readYaml } from '../source/yaml.js';
import { LIMITS } from '../../shared/limits.js';
import { isRecord, nearestWord } from '../../shared/text.js';

/** Common keys of front matter that are similar to the name of a setting. They are no typing mistakes. */
const METADATA: ReadonlySet<string> = new Set([
  'approved',
  'approver',
  'comment',
  'contact',
  'created',
  'plan',
]);

/** Returns the settings in the front matter of a document, without its faults. */
export const readPlanFront = (source: string, file: string): PlanFront =>
  settingsOf({ file, front: splitFrontMatter(source), faults: [], notes: [] });

/**
 * Checks the settings in the front matter. Other keys belong to the author, so they are ignored. A key that is similar to the name of a setting
 * gets a note.
 */
export function settingsOf({
  file,
  front,
  faults,
  notes,
}: Pick<DocumentReading, 'file' | 'front' | 'faults' | 'notes'>): PlanFront {
  if (!front.ok) faults.push({ file, line: front.line, message: front.message });
  const yaml = readYaml((front.ok ? front.yaml : null) ?? '', 1);
  if (!yaml.ok) {
    faults.push(
      ...yaml.faults.map(({ line, message }) => ({ file, line, message: `bad YAML: ${message}` })),
    );
    return {};
  }
  const known = { ...SHARED, repository, base };
  const entries = Object.entries(isRecord(yaml.value) ? yaml.value : {});
  const settings = entries.filter(([key]) => Object.hasOwn(known, key));
  const isProjectKey = (name: string): boolean =>
    Object.hasOwn(LIMITS, name) || CONFIG_KEYS.includes(name);
  const names = [...Object.keys(known), ...JOB_KEYS, ...Object.keys(LIMITS)];
  for (const [key] of entries) {
    if (Object.hasOwn(known, key) || METADATA.has(key)) continue;
    const near = isProjectKey(key) ? key : nearestWord(key, names);
    if (near === null) continue;
    const place = isProjectKey(near) ? 'for a plan it belongs in emend.yaml' : 'only jobs have it';
    const instead =
      near === key
        ? place
        : `did you mean \`${near}\`?${Object.hasOwn(known, near) ? '' : ` ${place}`}`;
    const message = `\`${key}\` in the front matter is ignored; ${instead}`;
    notes.push({ file, line: yaml.lineOf([key]), message });
  }
  const say = (path: readonly PropertyKey[], sentence: string): void => {
    faults.push({
      file,
      line: yaml.lineOf(path),
      message: `${path.map(String).join('.')}: ${sentence}`,
    });
  };
  return checkKeys(Object.fromEntries(settings), known, {
    problems: [],
    say,
    add: (path, expected, received) =>
      say(path, `expected ${expected}, received ${describeValue(received)}`),
  });
}
