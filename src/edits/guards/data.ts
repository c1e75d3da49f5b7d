/** A guard that has data files parsed, before against after: JSON, notebooks, YAML, TOML, Makefiles. */
import type { Finding } from '../../shared/formats.js';
import type { Syntax } from '../syntax-port.js';
import { isTestData } from './test-data.js';
import type { GuardView } from './view.js';

const DATA_FINDINGS = 5; // bound: New errors of one data file that are reported; the first usually causes the others.

/**
 * Errors of a file that had none before, or that is new. A new file of test data may be invalid on purpose, so its errors are notes, and
 * so is a file that cannot be parsed.
 */
export const dataErrors = (view: GuardView, syntax: Syntax): Finding[] => {
  const { path, base, changes, result } = view;
  if (changes.length === 0) return [];
  const check =
    syntax.dataFaults?.({ path, base: base.length === 0 ? null : base, result }) ?? null;
  if (check === null) return [];
  if (check.kind === 'unread') {
    const message = `The syntax of ${path} was not checked: ${check.why}`;
    return [{ guard: 'syntax', severity: 'note', path, message }];
  }
  // The first error of a line usually causes the others.
  const first = check.faults.filter(
    ({ line }, index, all) => all.findIndex((other) => other.line === line) === index,
  );
  const severity = base.length === 0 && isTestData(path) ? 'note' : 'ask';
  return first.slice(0, DATA_FINDINGS).map(({ line, what }) => {
    const text = JSON.stringify(result.line(line).trim().slice(0, 80));
    const message = `Line ${line + 1} of the new ${path} is not valid (${check.language}): ${what}: ${text}.`;
    return { guard: 'syntax', severity, path, lines: [line + 1, line + 1], message };
  });
};
