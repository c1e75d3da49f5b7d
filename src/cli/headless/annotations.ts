/** What a run in GitHub Actions shows beside the files: findings of its proposal, what it waits for, how it failed. */
import { type ResolvedRun, refreshRun } from '../../client/runs/resolve.js';
import { showRun } from '../../client/runs/show.js';
import { plain } from '../render/text.js';
import { shownKey } from '../../shared/ids.js';
import type { Followed } from '../follow-run.js';
import type { Session } from '../session.js';
import type { Finding } from '../../shared/formats.js';
import type { Problem } from '../../shared/problems.js';

// Annotations for GitHub Actions: workflow commands (`::error file=…,line=…::…`) on stderr, which the runner reads as it reads stdout.
// https://docs.github.com/actions/using-workflows/workflow-commands-for-github-actions

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
  return `::${level} ${properties.join(',')}::${inMessage(plain(message))}`;
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

export const annotate = async ({ io, emend }: Session, run: ResolvedRun, followed: Followed): Promise<void> => {
  const { proposal } = await showRun(emend, await refreshRun(emend, run));
  const lines = [...(proposal?.findings ?? []).map(ofFinding), ...endOf(followed, shownKey(run.stepKey))];
  for (const each of lines) io.err(annotationLine(each));
};

const endOf = (followed: Followed, shown: string): readonly Annotation[] => {
  switch (followed.kind) {
    case 'waiting': {
      const { decision } = followed.status;
      if (decision === null) return [];
      const lines = [`decision ${decision.id}`, decision.message, ...followed.why, `emend review ${shown}`];
      const title = `emend: waiting for a decision (${decision.reason})`;
      return [{ level: 'error', title, message: lines.join('\n') }];
    }
    case 'closed': {
      const { result, status, message } = followed.closed;
      if (result === null)
        return [{ level: 'error', title: `emend: ${status.toLowerCase()}`, message: message ?? status }];
      return result.problem === null ? [] : [ofProblem(result.problem)];
    }
    case 'no_worker':
      return [{ level: 'error', title: 'emend: no worker', message: followed.note }];
    case 'interrupted':
      return [];
  }
};
