/** The head of a file in the diff: its name, what it is, and the verdict on it. */
import { useEffect, useRef } from 'preact/hooks';
import type { RefObject } from 'preact';
import { spotOf, type Spot, type Row } from '../model/rows.js';
import { BASE_MOVED, SINCE_WORDS, type FileSince } from '../../../shared/event-text.js';
import type { ProposalSummary } from '../../../shared/proposal-activities.js';
import type { DiffFile } from '../model/diff.js';
import {
  VERDICTS,
  type Comment,
  type HunkNeed,
  type HunkVerdict,
  type HunkVerdicts,
  type Verdict,
} from '../model/verdicts.js';
import type { Tokens } from './line-text.js';

export const FileHead = ({ file, ...props }: DiffViewProps & { readonly file: DiffFile }) => {
  const summary = props.proposal.files.find((each) => each.path === file.path);
  const verdict = props.verdicts.get(file.path) ?? null;
  const answered = props.answered.get(file.path);
  return (
    <div class="file-head">
      <button
        class="plain path"
        aria-expanded={!props.folded.has(file.path)}
        onClick={() => props.onFold(file.path)}
      >
        {file.movedFrom !== null && (
          <span class="quiet">
            {file.movedFrom} {'->'}{' '}
          </span>
        )}
        <bdi>{file.path}</bdi>
      </button>
      <Change file={file} since={props.since.get(file.path)} />
      {summary !== undefined && (
        <span class="sums">
          <span class="plus">+{summary.added}</span> <span class="minus">-{summary.removed}</span>
        </span>
      )}
      {summary?.by === 'person' && <span class="tag">changed by hand</span>}
      {verdict === 'select' && (
        <span class="tag select">
          {props.parts(file) === null
            ? 'some'
            : [...(props.parts(file) ?? new Map()).values()].filter((word) => word === 'take')
                .length}{' '}
          of {file.hunks.length} hunks
        </span>
      )}
      <span class="spring" />
      {summary !== undefined && (
        <button
          class="verdict"
          aria-pressed={props.viewed.has(file.path)}
          aria-label={`Viewed ${file.path}`}
          onClick={() => props.onViewed(file.path)}
        >
          Viewed
        </button>
      )}
      {answered !== undefined && <span class="tag">{answered} recorded</span>}
      {answered === undefined && props.canAnswer(file.path) && (
        <span class="verdicts" role="group" aria-label={`Verdict on ${file.path}`}>
          {VERDICTS.map(([each, word]) => (
            <button
              key={each}
              class={`verdict ${each}`}
              aria-pressed={verdict === each}
              onClick={() => props.onVerdict(file.path, verdict === each ? null : each)}
            >
              {word}
            </button>
          ))}
          <button class="verdict" onClick={() => props.onSpot(spotOf(file, null), '')}>
            Comment
          </button>
        </span>
      )}
    </div>
  );
};

const Change = ({
  file,
  since,
}: {
  readonly file: DiffFile;
  readonly since: FileSince | undefined;
}) => {
  const words = [
    since === undefined ? '' : SINCE_WORDS[since.is],
    since?.baseMoved === true ? BASE_MOVED : '',
    file.isNew ? 'new' : '',
    file.isDeleted ? 'deleted' : '',
    file.movedFrom === null ? '' : 'moved',
    file.mode === null ? '' : `mode ${file.mode}`,
  ];
  return (
    <>
      {words
        .filter((word) => word !== '')
        .map((word) => (
          <span key={word} class="tag">
            {word}
          </span>
        ))}
    </>
  );
};

// The head of a hunk: its lines, the verdict on it where its file can be taken in part, and what it needs of other hunks.

const WORDS: readonly (readonly [HunkVerdict, string, string])[] = [
  ['take', 'Take', 'approve'],
  ['leave', 'Leave', 'skip'],
];

type HunkHeadProps = Pick<
  DiffViewProps,
  'parts' | 'needs' | 'onHunk' | 'answered' | 'canAnswer'
> & {
  readonly file: DiffFile;
  readonly hunk: number;
  readonly text: string;
};

export const HunkHead = ({ file, hunk, text, ...props }: HunkHeadProps) => {
  const said =
    props.canAnswer(file.path) && !props.answered.has(file.path) ? props.parts(file) : null;
  const mine = props.needs.filter((need) => need.path === file.path && need.hunk === hunk);
  return (
    <div class="hunk">
      <span>{text}</span>
      {mine.map((need) => {
        // Another file that is taken whole or not at all says nothing here of its hunks.
        const left = need.needs.path === file.path && said?.get(need.needs.hunk) === 'leave';
        return (
          <span key={need.text} class="tag warn">
            needs {need.text}
            {left ? ', which you rejected' : ''}
          </span>
        );
      })}
      <span class="spring" />
      {said !== null && (
        <span
          class="verdicts"
          role="group"
          aria-label={`Verdict on hunk ${hunk + 1} of ${file.path}`}
        >
          {WORDS.map(([word, title, look]) => (
            <button
              key={word}
              class={`verdict ${look}`}
              aria-pressed={said.get(hunk) === word}
              onClick={() => props.onHunk(file, hunk, said.get(hunk) === word ? null : word)}
            >
              {title}
            </button>
          ))}
        </span>
      )}
    </div>
  );
};

// A comment beside the line that it is about: kept, or being written.

type CommentBoxProps = Pick<DiffViewProps, 'editing' | 'onTyped' | 'onComment' | 'onSpot'> &
  Omit<Comment, 'quoted'>;

export const CommentBox = ({
  spot,
  text,
  editing,
  onTyped,
  onComment,
  onSpot,
}: CommentBoxProps) => {
  const field = useRef<HTMLTextAreaElement>(null);
  useEffect(() => field.current?.focus({ preventScroll: true }), [editing === null]);
  const where =
    spot.line === 0 ? 'the file' : `line ${spot.line}${spot.side === 'before' ? ' (before)' : ''}`;
  if (editing === null)
    return (
      <div class="comment">
        <p>
          <strong>Your comment on {where}:</strong> {text}
        </p>
        <button onClick={() => onSpot(spot, '')}>Edit</button>
        <button onClick={() => onComment({ spot, quoted: '', text: '' })}>Remove</button>
      </div>
    );
  const cancel = (): void => onComment({ ...editing, text });
  const keep = (): void => onComment(editing);
  return (
    <div class="comment">
      <label>
        What to change at {where}
        <textarea
          ref={field}
          rows={3}
          value={editing.text}
          onInput={(event) => onTyped(event.currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) keep();
            if (event.key === 'Escape') cancel();
          }}
        />
      </label>
      <button class="main" onClick={keep}>
        Keep
      </button>
      <button onClick={cancel}>Cancel</button>
    </div>
  );
};

export interface DiffHandle {
  /** Brings a row to the upper edge. */
  readonly show: (index: number) => void;
}

export interface DiffViewProps {
  readonly rows: readonly Row[];
  readonly files: readonly DiffFile[];
  readonly proposal: ProposalSummary;
  /** By path, beside an earlier version; else empty. */
  readonly since: ReadonlyMap<string, FileSince>;
  readonly handle: RefObject<DiffHandle | null>;
  /** Row with the line cursor. */
  readonly cursor: string | null;
  readonly search: string;
  readonly folded: ReadonlySet<string>;
  /** Paths that the person has marked as viewed. */
  readonly viewed: ReadonlySet<string>;
  readonly verdicts: ReadonlyMap<string, Verdict>;
  /** Answers that the run has already. */
  readonly answered: ReadonlyMap<string, string>;
  readonly canAnswer: (path: string) => boolean;
  /** What was said of the hunks of a file; null: it is taken whole or not at all. */
  readonly parts: (file: DiffFile) => HunkVerdicts | null;
  readonly needs: readonly HunkNeed[];
  readonly comments: ReadonlyMap<string, string>;
  /** The comment that is being written. */
  readonly editing: Comment | null;
  readonly tokens: Tokens;
  /** Which rows can be seen has changed. */
  readonly onSight: (first: number, last: number) => void;
  readonly onVerdict: (path: string, verdict: Verdict | null) => void;
  readonly onHunk: (file: DiffFile, hunk: number, said: HunkVerdict | null) => void;
  readonly onFold: (path: string) => void;
  readonly onViewed: (path: string) => void;
  readonly onUnfold: (path: string, gap: number) => void;
  readonly onSpot: (spot: Spot, quoted: string) => void;
  readonly onTyped: (text: string) => void;
  /** Without text: no comment there (any more). */
  readonly onComment: (comment: Comment) => void;
  readonly onPointed: (row: Row) => void;
}
