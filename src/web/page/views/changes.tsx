/** The diff with its tools: files beside it, keys, verdicts, comments, and what is to be sent below. */
import { useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { ProposalSince } from '../../../client/runs/proposal.js';
import type { RunView } from '../../../client/runs/show.js';
import type { ProposalSummary } from '../../../shared/proposal-activities.js';
import { DiffView } from '../diff/diff-view.js';
import type { DiffHandle } from '../diff/heads.js';
import { useTokens } from '../diff/line-text.js';
import { toggled, useKeys } from '../hooks.js';
import { filesSince, type DiffFile } from '../model/diff.js';
import { type HunkVerdict, openPaths, type Verdict } from '../model/verdicts.js';
import { lineOf, nextRow, searchRows, screenReaderText } from '../model/navigation.js';
import { rowsOf, spotKey, spotOf, type Layout, type Row, type Spot } from '../model/rows.js';
import { FileTree } from './file-tree.js';
import { Search } from './parts.js';
import { SendBar, SendDialog } from './send.js';
import { useParts, useReview, useUnfolded, useViewed } from './use-review.js';

interface ChangesProps {
  readonly view: RunView;
  readonly proposal: ProposalSummary;
  readonly whole: readonly DiffFile[];
  /** Beside an earlier version; null: all of the change. */
  readonly since: ProposalSince | null;
}
const LAYOUT = 'emend-layout';
const WIDE_px = 1_100;

export const Changes = ({ view, proposal, whole, since }: ChangesProps) => {
  const decision = view.status.decision?.proposalId === proposal.id ? view.status.decision : null;
  const approval = decision?.reason === 'approval' ? decision : null;
  const review = useReview(proposal.id);
  const viewed = useViewed(view.stepKey, proposal);
  const parts = useParts({ stepKey: view.stepKey, proposal }, whole, approval, review);
  const { texts, unfolded, unfold } = useUnfolded(view.stepKey, proposal.id);
  const [layout, setLayout] = useState<Layout>(() =>
    (localStorage.getItem(LAYOUT) ?? (innerWidth > WIDE_px ? 'split' : 'unified')) === 'split'
      ? 'split'
      : 'unified',
  );
  const files = useMemo(() => (since === null ? whole : filesSince(whole, since)), [whole, since]);
  const sinceOf = useMemo(() => new Map(since?.files.map((each) => [each.path, each])), [since]);
  const open = new Set(approval === null ? [] : openPaths(approval));
  // Of an earlier round, too.
  const settled = view.ledger.flatMap(({ path, verdict: word }) =>
    word === null || approval === null || open.has(path) ? [] : [[path, word] as const],
  );
  const answered = new Map<string, string>([
    ...settled,
    ...Object.entries(decision?.answered ?? {}),
  ]);
  // What was viewed is put away; beside an earlier version what was seen or decided, too.
  const [folded, setFolded] = useState<ReadonlySet<string>>(() => {
    const known = [...sinceOf.values()].filter(({ is, path }) => is === 'same' || !open.has(path));
    return new Set([...viewed.paths, ...known.map(({ path }) => path)]);
  });
  const editing = approval === null ? null : review.editing;
  const [cursor, setCursor] = useState<string | null>(null);
  // The rows in sight; drawn anew is only what depends on the file at the upper edge.
  const sight = useRef<readonly [first: number, last: number]>([0, 0]);
  const [atFile, setAtFile] = useState(0);
  const [words, setWords] = useState('');
  const [sending, setSending] = useState(false);
  const handle = useRef<DiffHandle>(null);
  const search = useRef<HTMLInputElement>(null);
  // Hunks are numbered in the whole change.
  const partsOf = (file: DiffFile) => (since === null ? parts.of(file) : null);
  const tokens = useTokens(files);
  const linesBefore = useMemo(
    () => new Map(since === null ? view.ledger.map((row) => [row.path, row.lines]) : []),
    [view.ledger, since],
  );
  const narrow = innerWidth < 700;
  const spots = useMemo(
    () => [
      ...review.comments.map((each) => each.spot),
      ...(editing === null || review.texts.has(spotKey(editing.spot)) ? [] : [editing.spot]),
    ],
    [review.comments, editing === null ? null : spotKey(editing.spot)],
  );
  const rows = useMemo(
    () =>
      rowsOf({
        files,
        layout: narrow ? 'unified' : layout,
        findings: proposal.findings,
        comments: spots,
        folded,
        texts,
        linesBefore,
        unfolded,
      }),
    [files, layout, narrow, proposal, spots, folded, texts, linesBefore, unfolded],
  );
  const cursorAt = useMemo(() => rows.findIndex((row) => row.key === cursor), [rows, cursor]);
  const here = (): number => (cursorAt === -1 ? sight.current[0] : cursorAt);
  const fileHere = (): DiffFile | undefined => files[rows[here()]?.file ?? 0];
  const onSight = (first: number, last: number): void => {
    sight.current = [first, last];
    setAtFile(rows[first]?.file ?? 0);
    // Keys act on what can be seen: a cursor that was scrolled away is none any more.
    if (cursorAt < first || cursorAt > last) setCursor((now) => (now === cursor ? null : now));
  };

  const go = (index: number | null): void => {
    const row = index === null ? undefined : rows[index];
    if (index === null || row === undefined) return;
    setCursor(row.key);
    handle.current?.show(Math.max(0, row.kind === 'file' ? index : index - 2));
  };
  // Where to go once rows are drawn as they have become: what is put away moves the rest.
  const goal = useRef<number | null>(null);
  useLayoutEffect(() => {
    if (goal.current !== null) toFile(goal.current);
    goal.current = null;
  }, [rows]);
  const toFile = (index: number): void => {
    go(rows.findIndex((row) => row.kind === 'file' && row.file === index));
    // Keys go on from there.
    document.getElementById('main')?.focus({ preventScroll: true });
  };
  const verdict = (path: string | undefined, wanted: Verdict | null): void => {
    if (path !== undefined && open.has(path)) review.setVerdict([path], wanted);
  };
  const hunkVerdict = (word: HunkVerdict) => (): void => {
    const row = rows[here()];
    const file = fileHere();
    const hunk = row === undefined || !('hunk' in row) ? 0 : row.hunk;
    if (file === undefined || hunk < 0 || !open.has(file.path) || partsOf(file) === null) return;
    review.setHunk(file, hunk, word);
    toNext(1, isHunk)();
  };
  const all = (wanted: Verdict): void =>
    review.setVerdict(
      [...open].filter((path) => !review.verdicts.has(path)),
      wanted,
    );
  const spot = (place: Spot, quoted: string): void => {
    // A line of an earlier version has no number that the model knows.
    const known =
      since === null || place.side === 'after'
        ? place
        : { ...place, side: 'after' as const, line: 0 };
    if (approval !== null) review.write(known, quoted);
  };
  const fold = (path: string): void => {
    setFolded(toggled(folded, path));
    // Its head stays where it is read.
    if (files[atFile]?.path === path) goal.current = atFile;
  };
  const mark = (path: string): void => {
    viewed.toggle(path);
    if (folded.has(path) === viewed.paths.has(path)) fold(path);
  };
  const onFile = (act: (path: string) => void) => (): void => {
    const file = fileHere();
    if (file !== undefined) act(file.path);
  };
  const turn = (): void => {
    const next = layout === 'split' ? 'unified' : 'split';
    localStorage.setItem(LAYOUT, next);
    setLayout(next);
  };
  const commentHere = (): void => {
    const row = rows[here()];
    const file = fileHere();
    if (row === undefined || file === undefined) return;
    const line = lineOf(row);
    spot(spotOf(file, line), line?.text ?? '');
  };
  const isFile = (row: Row): boolean => row.kind === 'file';
  const isHunk = (row: Row): boolean => row.kind === 'hunk';
  const isLine = (row: Row): boolean => lineOf(row) !== null;
  const toNext = (by: 1 | -1, wanted: (row: Row) => boolean) => (): void =>
    go(nextRow(rows, here(), by, wanted));
  const saying = (said: Verdict | null) => (): void => verdict(fileHere()?.path, said);
  const wanted = words.trim().toLowerCase();
  const findNext = (): void => go(searchRows(rows, files, wanted, here()));
  const ask = (isOpen: boolean) => () => {
    // What is being written belongs to what is sent.
    if (editing !== null) review.setComment(editing);
    setSending(isOpen);
  };
  useKeys({
    j: toNext(1, isFile),
    k: toNext(-1, isFile),
    n: toNext(1, isHunk),
    p: toNext(-1, isHunk),
    J: toNext(1, isLine),
    K: toNext(-1, isLine),
    a: saying('approve'),
    s: saying('skip'),
    r: saying('revise'),
    t: hunkVerdict('take'),
    l: hunkVerdict('leave'),
    u: saying(null),
    A: () => all('approve'),
    c: commentHere,
    f: onFile(fold),
    x: onFile((path) => {
      mark(path);
      if (!viewed.paths.has(path))
        goal.current = Math.min(files.length, (rows[here()]?.file ?? 0) + 2) - 1;
    }),
    e: () => document.querySelector<HTMLElement>('.file-list [role=tree]')?.focus(),
    v: turn,
    '/': () => search.current?.focus(),
    ...(approval !== null && { Enter: ask(true) }),
  });
  const { verdicts } = review;
  const shown = { files, proposal, since: sinceOf, viewed: viewed.paths, verdicts, answered };
  return (
    <section aria-label="Review" class="review">
      <div class="tools">
        <span>
          File {atFile + 1} of {files.length.toLocaleString('en-US')},{' '}
          {viewed.paths.size.toLocaleString('en-US')} viewed
        </span>
        <span class="spring" />
        <form
          role="search"
          onSubmit={(event) => {
            event.preventDefault();
            findNext();
          }}
        >
          <Search label="Search in the changes" field={search} value={words} onWords={setWords} />
        </form>
        <button onClick={turn} aria-pressed={layout === 'split'} class="wide-only">
          Side by side
        </button>
      </div>
      <p class="unseen" aria-live="polite">
        {screenReaderText(rows[cursorAt], files[rows[cursorAt]?.file ?? -1])}
      </p>
      <div class="panes">
        <FileTree {...shown} at={atFile} onFile={toFile} />
        <DiffView
          {...shown}
          rows={rows}
          handle={handle}
          cursor={cursor}
          search={wanted}
          folded={folded}
          onViewed={mark}
          canAnswer={(path) => open.has(path)}
          parts={partsOf}
          needs={since === null ? parts.needs : []}
          onHunk={review.setHunk}
          comments={review.texts}
          editing={editing}
          onTyped={(text) => editing !== null && review.setTyped({ editing: { ...editing, text } })}
          tokens={tokens}
          onSight={onSight}
          onVerdict={verdict}
          onFold={fold}
          onUnfold={unfold}
          onSpot={spot}
          onComment={review.setComment}
          onPointed={(row) => setCursor(row.key)}
        />
      </div>
      {approval !== null && (
        <SendBar open={[...open]} verdicts={review.verdicts} onAll={all} onSend={ask(true)} />
      )}
      {approval !== null && sending && (
        <SendDialog
          stepKey={view.stepKey}
          decision={approval}
          review={review}
          parts={parts}
          onClose={ask(false)}
        />
      )}
    </section>
  );
};
