/** The combined diff as one long list. */
import { useCallback, useEffect, useImperativeHandle, useRef } from 'preact/hooks';
import type { DiffFile, DiffLine } from '../model/diff.js';
import { spotKey, type Row, type Spot } from '../model/rows.js';
import { CommentBox, FileHead, HunkHead, type DiffViewProps } from './heads.js';
import { LineText } from './line-text.js';
import { useVirtual } from './virtual.js';

const LINE_px = 20;
const GUESS: Record<Row['kind'], number> = {
  file: 52,
  hunk: 34,
  fold: 30,
  line: LINE_px,
  pair: LINE_px,
  finding: 44,
  comment: 60,
  note: LINE_px,
};
/** Roughly: how often a line of that length breaks. */
const CHAR_px = 7.9;
const GUTTER_px = 120;
/** What covers the upper edge of the window: the bar with the file's name. */
const EDGE_px = 48;

export const DiffView = (props: DiffViewProps) => {
  const { rows, handle, onAt } = props;
  const width = useRef(900);
  const guess = useCallback(
    (index: number): number => {
      const row = rows[index];
      if (row === undefined) return LINE_px;
      const chars =
        row.kind === 'line'
          ? row.line.text.length
          : row.kind === 'pair'
            ? 2 * Math.max(row.before?.text.length ?? 0, row.after?.text.length ?? 0)
            : 0;
      const columns = Math.max(20, (width.current - GUTTER_px) / CHAR_px);
      return chars <= columns ? GUESS[row.kind] : Math.ceil(Math.min(chars, 2_000) / columns) * LINE_px;
    },
    [rows],
  );
  const virtual = useVirtual(rows, guess, EDGE_px);
  useImperativeHandle(handle, () => ({ show: virtual.scrollTo }), [virtual]);
  useEffect(() => {
    width.current = virtual.list.current?.clientWidth ?? 900;
  });
  useEffect(() => {
    onAt(virtual.at);
  }, [virtual.at, rows]);
  return (
    <div
      ref={virtual.list}
      class="diff"
      style={{ height: `${virtual.height_px}px` }}
      role="region"
      aria-label="Changes"
    >
      <div class="drawn" style={{ transform: `translateY(${virtual.top_px}px)` }}>
        {rows.slice(virtual.first, virtual.last + 1).map((row) => (
          <div
            key={row.key}
            ref={virtual.measure(row.key)}
            class={props.cursor === row.key ? 'cursor' : undefined}
            data-row={row.key}
          >
            <RowView row={row} {...props} />
          </div>
        ))}
      </div>
    </div>
  );
};

const RowView = (props: DiffViewProps & { readonly row: Row }) => {
  const { row, files } = props;
  const file = files[row.file];
  if (file === undefined) return null;
  switch (row.kind) {
    case 'file':
      return <FileHead file={file} {...props} />;
    case 'hunk':
      return <HunkHead file={file} hunk={row.hunk} text={row.text} {...props} />;
    case 'fold':
      return (
        <button
          class="fold"
          onClick={() => {
            props.onUnfold(file.path, row.gap);
          }}
        >
          {row.to === Number.MAX_SAFE_INTEGER
            ? `show the unchanged rest from line ${row.from}`
            : `show ${row.to - row.from + 1} unchanged lines`}
        </button>
      );
    case 'line':
      return <LineRow {...props} line={row.line} other={row.other} file={file} />;
    case 'pair':
      return (
        <div class="pair">
          <Half
            {...props}
            line={row.before}
            other={row.before === row.after ? null : row.after}
            file={file}
            side="before"
          />
          <Half
            {...props}
            line={row.after}
            other={row.before === row.after ? null : row.before}
            file={file}
            side="after"
          />
        </div>
      );
    case 'finding':
      return (
        <p class={`finding ${row.finding.severity}`}>
          <strong>{row.finding.guard.replaceAll('_', ' ')}</strong>
          {row.finding.lines !== undefined &&
            ` (line ${row.finding.lines[0]}${row.finding.lines[1] === row.finding.lines[0] ? '' : `-${row.finding.lines[1]}`})`}
          : {row.finding.message}
        </p>
      );
    case 'comment': {
      const key = spotKey(row.spot);
      return (
        <CommentBox
          key={key}
          spot={row.spot}
          text={props.comments.get(key) ?? ''}
          editing={props.editing === key}
          onComment={props.onComment}
          onSpot={props.onSpot}
        />
      );
    }
    case 'note':
      return <div class="note">{row.text}</div>;
  }
};

const SIGN_WORD = { '+': 'added', '-': 'removed', ' ': '' } as const;

const Numbered = ({
  n,
  onPick,
  what,
}: {
  readonly n: number | null;
  readonly what: string;
  readonly onPick: () => void;
}) =>
  n === null ? (
    <span class="no" />
  ) : (
    <button class="no" tabIndex={-1} onClick={onPick} aria-label={`Comment on line ${n} ${what}`}>
      {n}
    </button>
  );

type LineProps = DiffViewProps & { readonly row: Row; readonly file: DiffFile };

const spotOf = (file: DiffFile, line: DiffLine): Spot =>
  line.after === null
    ? { path: file.path, side: 'before', line: line.before ?? 0 }
    : { path: file.path, side: 'after', line: line.after };

const hunkOf = (row: Row): number => (row.kind === 'line' || row.kind === 'pair' ? row.hunk : -1);

const LineRow = ({
  line,
  other,
  file,
  ...props
}: LineProps & { readonly line: DiffLine; readonly other: DiffLine | null }) => {
  const pick = (): void => {
    props.onPointed(props.row);
    props.onSpot(spotOf(file, line), line.text);
  };
  return (
    <div class={`line ${line.sign === '+' ? 'add' : line.sign === '-' ? 'del' : ''}`}>
      <Numbered n={line.before} what="before" onPick={pick} />
      <Numbered n={line.after} what="after" onPick={pick} />
      <span class="sign" aria-hidden="true">
        {line.sign}
      </span>
      {line.sign !== ' ' && <span class="unseen">{SIGN_WORD[line.sign]}: </span>}
      <LineText line={line} other={other} tokens={props.tokens(file, hunkOf(props.row), line)} search={props.search} />
    </div>
  );
};

interface HalfProps extends LineProps {
  readonly line: DiffLine | null;
  readonly other: DiffLine | null;
  readonly side: 'before' | 'after';
}

const Half = ({ line, other, file, side, ...props }: HalfProps) => {
  if (line === null) return <div class="half none" />;
  const changed = line.sign !== ' ';
  return (
    <div class={`half ${changed ? (side === 'before' ? 'del' : 'add') : ''}`}>
      <Numbered
        n={side === 'before' ? line.before : line.after}
        what={side}
        onPick={() => {
          props.onSpot(spotOf(file, line), line.text);
        }}
      />
      <span class="sign" aria-hidden="true">
        {line.sign}
      </span>
      {changed && <span class="unseen">{SIGN_WORD[line.sign]}: </span>}
      <LineText line={line} other={other} tokens={props.tokens(file, hunkOf(props.row), line)} search={props.search} />
    </div>
  );
};
