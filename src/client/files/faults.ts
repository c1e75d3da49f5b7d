/** What is wrong with the bytes of a file of a home or store, and what that means for the run that it belongs to. */
import { isKnown } from '../../shared/problems.js';
import { idIn } from '../../stores/home.js';
import { isAside, unAside } from '../../stores/index.js';
import { refOf } from '../../system/hash.js';
import { unsealed } from '../../system/sealed.js';

const BLOB = /^blobs\/[0-9a-f]{2}\/([0-9a-f]{64})$/;
const IDS = ['host-id', 'host-id.copy', 'store-id'];
/** The database checks itself when its server starts; logs for people have no form; the rest is made again. */
const UNCHECKED =
  /^(?:server|logs|layers|compiled|evidence|pages|index|changes)\/|^dev-server\.json|\.TMP-/;

/** Evidence is for other programs: it has no checksum, and a version of its own. */
const EVIDENCE = /^archive\/.*\/evidence[^/]*\.json$/;

const faultOfText = (path: string, text: string): string | null => {
  const read = unsealed(text);
  if (read === 'damaged') return 'its checksum does not match its content';
  if (read === 'torn') return 'it is no JSON';
  return EVIDENCE.test(path) || isKnown(read) ? null : 'another version of Emend wrote it';
};

/** The last line may be torn: a writer that was killed reported nothing that depends on it. So may a line that a later one closed. */
const faultOfLines = (text: string): string | null => {
  if (text === '') return 'it is empty';
  const damaged = text
    .split('\n')
    .slice(0, -1)
    .findIndex((line) => unsealed(line) === 'damaged');
  return damaged < 0 ? null : `line ${damaged + 1} was changed after it was written`;
};

const faultOfId = (bytes: Uint8Array): string | null =>
  idIn(bytes, 'It', 'EMEND_HOME') === null ? 'it contains no id' : null;

/** `path`: relative to the home or store. Null: nothing is wrong, as far as the bytes can tell. */
export const faultIn = (path: string, bytes: Uint8Array): string | null => {
  const hash = BLOB.exec(isAside(path) ? unAside(path) : path)?.[1];
  if (hash !== undefined)
    return refOf(bytes) === `sha256:${hash}` ? null : 'it no longer matches its hash';
  if (UNCHECKED.test(path)) return null;
  if (IDS.includes(path)) return faultOfId(bytes);
  const text = new TextDecoder().decode(bytes);
  if (path.endsWith('.jsonl')) return faultOfLines(text);
  return path.endsWith('.json') ? faultOfText(path, text.replace(/\n$/, '')) : null;
};

interface Kind {
  readonly pattern: RegExp;
  readonly effect: string;
}

/** The first that fits. */
const KINDS: readonly Kind[] = [
  {
    pattern: /^blobs\//,
    effect: 'A run that needs this content asks (blob_lost); `regenerate` asks the model again.',
  },
  {
    pattern: /^calls\/.*\/answer\.json/,
    effect: 'Put aside, the response is read from the log of its attempt; nothing is paid again.',
  },
  {
    pattern: /^calls\/.*\/attempt-\d+\.json/,
    effect: 'Nothing is lost: the log of the attempt has the response.',
  },
  {
    pattern: /^calls\//,
    effect:
      'If the run has no recorded response, it asks (engine_failed) before it calls the model again.',
  },
  {
    pattern: /^archive\/.*\.jsonl/,
    effect: 'The run continues; `show`, `events` and reports leave out what cannot be read.',
  },
  {
    pattern: /^archive\//,
    effect: 'The run continues; `emend evidence` writes its evidence again.',
  },
  {
    pattern: /^records\/(?:outlines|baselines)\//,
    effect: 'Put aside, it is made again when a run needs it.',
  },
  {
    pattern: /^records\/hosts\//,
    effect: '`emend hosts` does not know the name of a host until its next start.',
  },
  { pattern: /^records\//, effect: 'The run asks (engine_failed) when it needs this result.' },
  {
    pattern: /^transactions\//,
    effect: '`emend recover` leaves this change as it is, and does the rest.',
  },
  { pattern: /^locks\//, effect: 'No run can take the workspace until the file is put aside.' },
  {
    pattern: /^trust\//,
    effect:
      'A run that needs it asks (engine_failed). Put aside, Emend forgets that a model may have written a configuration: read that first.',
  },
  { pattern: /^worktrees\//, effect: 'The worktree of a phase is not removed by itself.' },
  {
    pattern: /^(?:host|store)-id/,
    effect: 'The next command writes it again, if its copy or `store.json` has the id.',
  },
];

const EFFECT = 'What reads it reports it by name.';
export const effectOf = (path: string): string =>
  KINDS.find(({ pattern }) => pattern.test(path))?.effect ?? EFFECT;

const OF_RUN =
  /^(?:calls|records\/steps|transactions|archive|worktrees)\/([0-9a-z-]{8,80})(?:\/|$)/;
/** Key of the run that the file belongs to; null: it belongs to several, or to none. */
export const runOf = (path: string): string | null => OF_RUN.exec(path)?.[1] ?? null;
