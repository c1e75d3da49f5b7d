/** What the demo says, apart from what it does. */
import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { count, eventText, isWorthALine, plain, table } from '../dist/src/cli/render/text.js';
import { storePaths } from '../dist/src/stores/location.js';

export const jobHeading = ({ number, title, name, stepKey }) => [
  '',
  `Job ${number}: ${title}`,
  `  jobs/${name}, run ${stepKey.slice(0, 8)}`,
  '',
];

/**
 * One function a run, for it keeps count of the files that were asked for: the lines that tell an event, none for what goes without
 * saying. `width`: of a line, in characters.
 */
export const teller = (width) => {
  const requestedFiles = [];
  let fileCount = 0;
  const place = (file) => {
    const again = requestedFiles.includes(file);
    if (!again) requestedFiles.push(file);
    return `file ${requestedFiles.indexOf(file) + 1}/${fileCount}: ${file}${again ? ', asked again with the reason' : ''}`;
  };
  const textOf = (event) => {
    switch (event.type) {
      case 'preflight_complete':
        fileCount = event.targetFileCount;
        return event.reason;
      case 'format_chosen':
        return `- ${event.file_path}: ${count(event.line_count, 'line')}, format ${event.format}`;
      case 'edit_chunk_started':
        return event.file === '*' ? `all ${fileCount} files in one call` : place(event.file);
      case 'truncation_detected':
        return `truncated: the answer was cut off at its output limit (${event.stopReason}) after ${count(event.partialLength, 'byte')}; none of it is used`;
      case 'edit_split_triggered':
        return `split by file: one call for each of ${event.file_count} files`;
      case 'brief_ready':
        return 'brief: what the calls must agree on';
      case 'answer_refused':
        return `refused: ${withoutAddress(event.message)}`;
      case 'proposal_ready':
        return `proposal ${event.proposal.slice(0, 8)}, ${count(event.file_count, 'file')}, +${event.added} -${event.removed}`;
      case 'applied':
        return `applied: ${count(event.file_count, 'file')}`;
      case 'verified':
        return `check command: ${event.outcome}`;
      case 'decided':
      case 'committed':
        return null;
      default:
        return isWorthALine(event) ? eventText(event) : null;
    }
  };
  return (event) => {
    const text = textOf(event);
    return text === null ? [] : wrapped(plain(text), width);
  };
};

/** `1. a.js, edit 0 (counted from 0): Hunk 1 …` -> `Hunk 1 …`: the line before names the file. */
const withoutAddress = (message) => message.replace(/^1\. [^:]*: /, '');

/** Breaks at blanks; the first line is indented, the others more. */
const wrapped = (text, width) => {
  const lines = text.match(new RegExp(`\\S.{0,${width - 5}}(?=\\s|$)`, 'gs')) ?? [];
  return lines.map((line, index) => (index === 0 ? `  ${line}` : `    ${line}`));
};

export const jobEnding = ({ result, seconds }) => [
  `  ${result.outcome}${result.commit === null ? '' : ` ${result.commit.slice(0, 12)}`} after ${seconds.toFixed(1)} s and ${count(result.usage.calls, 'model call')}`,
];

/** What each job took, by its run's own count, and what the rehearsal counted; and where to look. */
export const totalLines = (ended, stage) => {
  const sum = (countOf) => ended.reduce((total, run) => total + countOf(run), 0);
  const together = [sum(calls), sum(tokensIn), sum(tokensOut), sum(seconds)];
  return [
    '',
    ...table([
      ['', 'model calls', 'tokens in', 'tokens out', 'seconds'],
      ...ended.map((run) => [
        `  job ${run.number}`,
        ...figures([calls(run), tokensIn(run), tokensOut(run), seconds(run)]),
      ]),
      ['  together', ...figures(together)],
    ]),
    `  The rehearsal model has answered ${count(stage.rehearsal.requests().length, 'request')}.`,
    '',
    'Where to look',
    ...table(ended.flatMap((run) => places(run, stage))),
  ];
};

const calls = ({ result }) => result.usage.calls;
const tokensIn = ({ result: { usage } }) =>
  usage.input_tokens + usage.cacheRead_tokens + usage.cacheWrite_tokens;
const tokensOut = ({ result }) => result.usage.output_tokens;
const seconds = (run) => run.seconds;
const WIDTHS = [11, 9, 10, 7];
const figures = (numbers) =>
  numbers.map((n, index) =>
    n.toLocaleString('en-US', { maximumFractionDigits: 1 }).padStart(WIDTHS[index]),
  );

const places = ({ number, stepKey, result }, { home, repo }) => [
  ...(result.commit === null
    ? []
    : [[`  job ${number}`, 'commit', `git -C ${quoted(repo)} show ${result.commit.slice(0, 12)}`]]),
  [`  job ${number}`, 'archive', `${storePaths(home).archive}/${stepKey}/log.jsonl`],
];

/** Said when all has ended; the folder is still there. */
export const closingLines = (ended, { dir, home }) => {
  const emend = `EMEND_HOME=${quoted(home)} node ${quoted(relative('', fileURLToPath(new URL('../dist/client.js', import.meta.url))))}`;
  return [
    'Server, worker and rehearsal have ended; the Temporal UI is gone with them. What they did is kept:',
    ...table([
      ...ended.map(({ name, stepKey }) => [
        `  to see ${name}`,
        `${emend} show ${stepKey.slice(0, 8)}`,
      ]),
      ['  to have the UI back', `${emend} dev`],
      ['  to remove all of it', `rm -r ${quoted(dir)}`],
    ]),
  ];
};

/** For a shell, where a path needs it. */
const quoted = (path) =>
  /^[\w./+:@-]+$/.test(path) ? path : `'${path.replaceAll("'", String.raw`'\''`)}'`;
