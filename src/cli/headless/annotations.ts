/**
 * Annotations for GitHub Actions: workflow commands (`::error file=…,line=…::…`) on stderr, which the runner reads as it reads stdout.
 * https://docs.github.com/actions/using-workflows/workflow-commands-for-github-actions
 */
import type { Finding } from '../../shared/formats.js';
import type { Problem } from '../../shared/problems.js';

type Level = 'error' | 'warning' | 'notice';
export interface Annotation {
  readonly level: Level;
  readonly message: string;
  readonly title: string;
  readonly file?: string;
  readonly line?: number;
  readonly endLine?: number;
}

export const wantsAnnotations = (env: Readonly<Record<string, string | undefined>>, asked: boolean): boolean =>
  asked || env.GITHUB_ACTIONS === 'true';

const inMessage = (text: string): string => text.replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A');
const inProperty = (text: string): string => inMessage(text).replaceAll(':', '%3A').replaceAll(',', '%2C');

export const annotationLine = ({ level, message, title, file, line, endLine }: Annotation): string => {
  const properties = Object.entries({ file, line, endLine, title }).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}=${inProperty(String(value))}`],
  );
  return `::${level} ${properties.join(',')}::${inMessage(message)}`;
};

const LEVELS: Record<Finding['severity'], Level> = { note: 'notice', ask: 'warning', refuse: 'error' };

export const ofFinding = ({ guard, severity, path, lines, message }: Finding): Annotation => ({
  level: LEVELS[severity],
  title: `emend: ${guard}`,
  message,
  file: path,
  ...(lines === undefined ? {} : { line: lines[0], endLine: lines[1] }),
});

/** Problems that name a place (`job.md:3: …`) are shown there. */
export const ofProblem = ({ code, message }: Problem): Annotation => {
  const [, file, line, rest] = /^([^\s:]+):(\d+):(?:\d+:)? (.+)$/s.exec(message) ?? [];
  return file === undefined || line === undefined
    ? { level: 'error', title: `emend: ${code}`, message }
    : { level: 'error', title: `emend: ${code}`, message: rest ?? message, file, line: Number(line) };
};

export const ofWaiting = (reason: string, decision: string, why: readonly string[]): Annotation => ({
  level: 'error',
  title: `emend: waits for a person (${reason})`,
  message: [`decision ${decision}`, ...why].join('\n'),
});
