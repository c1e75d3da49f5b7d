/** Goes through a proposal hunk by hunk in the terminal and answers for its files. */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { decide } from '../../client/runs/decide.js';
import type { ResolvedRun } from '../../client/runs/resolve.js';
import { problemOn } from '../../shared/problems.js';
import { toleranceFile, toleranceText } from '../../shared/tolerance-text.js';
import { withScratch } from '../../system/scratch.js';
import { gitColors, type DiffColors, gitEditor } from '../git-settings.js';
import type { Io } from '../io.js';
import type { Session } from '../session.js';
import { coloredLine, printDiff, plain } from '../render/text.js';
import {
  type Review,
  KEYS,
  keysFor,
  missedLines,
  needLines,
  promptFor,
  summaryLines,
  type Key,
} from './text.js';
import {
  answerPiece,
  commentPiece,
  currentPiece,
  splitPiece,
  startNavigation,
  verdictsOf,
  type FileVerdict,
  type Piece,
  type Navigation,
} from './session.js';

// A note of several lines, written in the person's editor; where there is none, one line typed here.

/** Where a person is asked. */
interface Place {
  readonly io: Io;
  /** The workspace, whose git configuration counts. */
  readonly dir: string;
  readonly signal: AbortSignal;
}

/** `about`: lines put below as comments. Null: the person thought better of it. */
const writeNote = async (
  { io, dir, signal }: Place,
  about: readonly string[],
): Promise<string | null> => {
  const editor = await gitEditor(io, dir);
  const edited = editor === null ? undefined : await editNote(io, editor, about);
  if (edited !== undefined) return edited;
  const typed = await io.ask('What should change? ', signal);
  return typed === null || typed.trim() === '' ? null : typed.trim();
};

/** Undefined: the editor could not be run. */
const editNote = (
  io: Io,
  editor: string,
  about: readonly string[],
): Promise<string | null | undefined> =>
  withScratch('note', async (folder) => {
    const file = join(folder, 'NOTE');
    const help = [
      'What should change? Lines that start with # are ignored; an empty note changes nothing.',
      '',
      ...about,
    ];
    await writeFile(file, `\n${help.map((text) => `# ${text}`.trimEnd()).join('\n')}\n`, {
      mode: 0o600,
    });
    const exit = await io.runTool(editor, [file], null);
    if (exit === null || exit === 126 || exit === 127) return undefined;
    if (exit !== 0) return null;
    const lines = (await readFile(file, 'utf8'))
      .split('\n')
      .filter((line) => !line.startsWith('#'));
    const note = lines.join('\n').trim();
    return note === '' ? null : note;
  });

/** The verdicts that were sent for all files. `part`: some were sent, and other files wait; `left`: none; `changed`: none, as another answer came first. */
type Reviewed = readonly FileVerdict[] | 'part' | 'left' | 'changed';

export const askReview = async (
  session: Session,
  run: ResolvedRun,
  review: Review,
  { dir, signal }: Omit<Place, 'io'>,
): Promise<Reviewed> => {
  const { io } = session;
  const walk = await goThrough({ io, dir, signal }, review);
  const verdicts = verdictsOf(walk);
  if (verdicts.length === 0 || signal.aborted) return 'left';
  const waiting = review.files.length - verdicts.length;
  io.out('');
  for (const text of [...summaryLines(verdicts, waiting), ...missedLines(review, walk)])
    io.out(text);
  if (!(await isConfirmed(io, signal))) return 'left';
  if (!(await send(session, run, review, verdicts))) return 'changed';
  return waiting === 0 ? verdicts : 'part';
};

/** Asks until the reviewer sends the answers or discards them: Enter does neither, as a walk through many hunks is work. */
const isConfirmed = async (io: Io, signal: AbortSignal): Promise<boolean> => {
  for (;;) {
    const typed = await io.key('Send these answers [y,n]? ', signal);
    if (typed === 'y') return true;
    if (typed === 'n' || typed === 'q' || typed === null) return false;
    io.out('Your answers are kept. y - send them; n - discard them and quit');
  }
};

const goThrough = async (place: Place, review: Review): Promise<Navigation> => {
  const { io, dir } = place;
  const colors = await gitColors(io, dir);
  let walk = startNavigation(review.files);
  let shown: Piece | null = null;
  for (let piece = currentPiece(walk); piece !== null; piece = currentPiece(walk)) {
    if (piece !== shown) {
      if (piece.path !== shown?.path)
        for (const text of fileLines(review, piece, colors)) io.out(text);
      for (const text of piece.lines) io.out(coloredLine(colors, plain(text)));
      for (const text of needLines(review, walk)) io.out(text);
      shown = piece;
    }
    const typed = await io.key(promptFor(piece), place.signal);
    const key = keyOf(piece, typed ?? 'q');
    if (key === 'q') return walk;
    if (key === 'p') await printDiff(io, review.diff, dir);
    else if (key === null || key === '?') {
      if (key === null) io.out('That is not a key here.');
      for (const each of keysFor(piece)) io.out(`${each} - ${KEYS[each]}`);
    } else walk = await step(place, walk, key);
  }
  return walk;
};

/** Returns the key. Null: the prompt does not show it. */
const keyOf = (piece: Piece, typed: string): Key | null =>
  keysFor(piece).find((key) => key === typed) ?? null;

const step = async (place: Place, walk: Navigation, key: Key): Promise<Navigation> => {
  switch (key) {
    case 'y':
    case 'a':
      return answerPiece(walk, 'take', key === 'a');
    case 'n':
    case 'd':
      return answerPiece(walk, 'leave', key === 'd');
    case 's':
      return splitPiece(walk) ?? walk;
    case 'c': {
      const piece = currentPiece(walk);
      const note = await writeNote(place, [`File: ${piece?.path ?? ''}`, ...(piece?.lines ?? [])]);
      return note === null ? walk : commentPiece(walk, note);
    }
    default:
      return walk;
  }
};

const fileLines = (
  { files, proposal }: Review,
  { path }: Piece,
  colors: DiffColors,
): readonly string[] => {
  const section = files.find((file) => file.path === path)?.section;
  const header = section?.header.filter((text) => !text.startsWith('# ')) ?? [];
  const comments =
    section?.header.filter((text) => text.startsWith('# ')).map((text) => text.slice(2)) ?? [];
  const about = proposal.findings.filter((finding) => finding.path === path);
  return [
    '',
    ...(header.length === 0
      ? [colors.meta(plain(path))]
      : header.map((text) => colors.meta(plain(text)))),
    ...comments.map(plain),
    ...about.map((finding) => plain(`  ${finding.guard}: ${finding.message}`)),
    ...proposal.tolerances
      .filter((used) => toleranceFile(used) === path)
      .map((used) => plain(`  tolerance used: ${toleranceText(used)}`)),
  ];
};

/** One request for all that are approved, one for all that are skipped, one a note, and the selection last: it makes a new proposal. */
const send = async (
  { io, emend }: Session,
  run: ResolvedRun,
  { decision }: Review,
  verdicts: readonly FileVerdict[],
): Promise<boolean> => {
  const select = verdicts.flatMap((verdict) =>
    verdict.answer === 'select' ? [[verdict.path, verdict.changes] as const] : [],
  );
  const requests: Parameters<typeof decide>[2][] = [
    ...(['approve', 'skip'] as const).flatMap((answer) => {
      const files = verdicts.flatMap((verdict) =>
        verdict.answer === answer ? [verdict.path] : [],
      );
      return files.length === 0 ? [] : [{ answer, files }];
    }),
    ...verdicts.flatMap((verdict) =>
      verdict.answer === 'revise'
        ? [{ answer: 'revise' as const, files: [verdict.path], note: verdict.note }]
        : [],
    ),
    ...(select.length === 0
      ? []
      : [{ answer: 'select' as const, select: Object.fromEntries(select) }]),
  ];
  try {
    for (const request of requests) {
      const result = await decide(emend, run, {
        ...request,
        decision: decision.id,
        sign: decision.mustSign === true,
      });
      io.out(plain(result.message));
    }
    return true;
  } catch (error) {
    // Answered elsewhere meanwhile, or the proposal has changed: what was looked at is not what is open.
    io.err(plain(problemOn('answer_not_accepted')(error).message));
    return false;
  }
};
