/** The combined diff as one long list. */
import type { VNode } from 'preact';
import { useCallback, useEffect, useImperativeHandle, useMemo, useRef } from 'preact/hooks';
import type { DiffFile, DiffLine } from '../model/diff.js';
import { spotKey, spotOf, type Row, type Spot } from '../model/rows.js';
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
/** What covers the upper edge of the window: the bar with the tools, and below it the head of the file. */
const BAR_px = 48;
const EDGE_px = BAR_px + GUESS.file;

export const DiffView = (props: DiffViewProps) => {
  const { rows, handle, onSight } = props;
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
      return chars <= columns
        ? GUESS[row.kind]
        : Math.ceil(Math.min(chars, 2_000) / columns) * LINE_px;
    },
    [rows],
  );
  const { list, first, last, offsets, scrollTo } = useVirtual({
    rows,
    guess,
    bar_px: BAR_px,
    onSight,
  });
  const heads = useMemo(
    () => rows.flatMap(({ kind }, index) => (kind === 'file' ? [index] : [])),
    [rows],
  );
  useImperativeHandle(handle, () => ({
    show: (index) => scrollTo(index, rows[index]?.kind === 'file' ? BAR_px : EDGE_px),
  }));
  useEffect(() => {
    width.current = list.current?.clientWidth ?? 900;
  });
  // What was drawn for these very props stays: the list is drawn anew for each place and height.
  const made = useRef<{
    readonly by: DiffViewProps;
    readonly rows: ReadonlyMap<number, VNode>;
  } | null>(null);
  const before = made.current?.by === props ? made.current.rows : null;
  const now = new Map<number, VNode>();
  made.current = { by: props, rows: now };
  const drawn = (index: number) => {
    const row = rows[index];
    if (row === undefined) return null;
    const classes = `${row.kind === 'file' ? 'head' : ''} ${props.cursor === row.key ? 'cursor' : ''}`;
    const node = before?.get(index) ?? (
      <div key={row.key} class={classes} data-row={row.key} data-at={index}>
        <RowView row={row} {...props} />
      </div>
    );
    now.set(index, node);
    return node;
  };
  const from = rows[first]?.file ?? 0;
  // Each file with its head, which stays at the upper edge while one of its rows is there.
  const sections = heads.slice(from, (rows[last]?.file ?? -1) + 1).map((head, i) => {
    const begin = Math.max(head + 1, first);
    const end = Math.min(last + 1, heads[from + i + 1] ?? rows.length);
    return (
      <div key={from + i}>
        {drawn(head)}
        <div style={{ height: `${(offsets[begin] ?? 0) - (offsets[head + 1] ?? 0)}px` }} />
        {Array.from({ length: Math.max(0, end - begin) }, (_, n) => drawn(begin + n))}
      </div>
    );
  });
  return (
    <div
      ref={list}
      class="diff"
      style={{ height: `${offsets[rows.length] ?? 0}px` }}
      role="region"
      aria-label="Changes"
    >
      <div class="drawn" style={{ top: `${offsets[heads[from] ?? 0] ?? 0}px` }}>
        {sections}
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
        <button class="fold" onClick={() => props.onUnfold(file.path, row.gap)}>
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
          {SIDES.map((side) => {
            const other = row[side === 'before' ? 'after' : 'before'];
            const line = row[side];
            return (
              <LineRow
                {...props}
                key={side}
                line={line}
                other={line === other ? null : other}
                file={file}
                side={side}
              />
            );
          })}
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
          editing={
            props.editing !== null && spotKey(props.editing.spot) === key ? props.editing : null
          }
          onTyped={props.onTyped}
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
const SIGN_CLASS = { '+': 'add', '-': 'del', ' ': '' } as const;
const SIDES = ['before', 'after'] as const;

interface LineProps extends DiffViewProps {
  readonly row: Row;
  readonly file: DiffFile;
  /** Null: nothing is on this side. */
  readonly line: DiffLine | null;
  readonly other: DiffLine | null;
  /** Of two side by side; absent: one column. */
  readonly side?: Spot['side'];
}

const LineRow = ({ line, other, file, side, ...props }: LineProps) => {
  if (line === null) return <div class="half none" />;
  const pick = (): void => {
    props.onPointed(props.row);
    props.onSpot(spotOf(file, line), line.text);
  };
  const hunk = 'hunk' in props.row ? props.row.hunk : -1;
  return (
    <div class={`${side === undefined ? 'line' : 'half'} ${SIGN_CLASS[line.sign]}`}>
      {(side === undefined ? SIDES : [side]).map((each) =>
        line[each] === null ? (
          <span key={each} class="no" />
        ) : (
          <button
            key={each}
            class="no"
            tabIndex={-1}
            onClick={pick}
            aria-label={`Comment on line ${line[each]} ${each}`}
          >
            {line[each]}
          </button>
        ),
      )}
      <span class="sign" aria-hidden="true">
        {line.sign}
      </span>
      {line.sign !== ' ' && <span class="unseen">{SIGN_WORD[line.sign]}: </span>}
      <LineText
        line={line}
        other={other}
        tokens={props.tokens(file, hunk, line)}
        search={props.search}
      />
    </div>
  );
};
