/** The diff with its tools: files beside it, keys, verdicts, comments, and what is to be sent below. */
import { useMemo, useRef, useState } from 'preact/hooks';
import type { ProposalSince } from '../../../client/runs/proposal.js';
import type { RunView } from '../../../client/runs/show.js';
import type { ProposalSummary } from '../../../shared/proposal-activities.js';
import { DiffView } from '../diff/diff-view.js';
import type { DiffHandle } from '../diff/heads.js';
import { useTokens } from '../diff/colours.js';
import { useKeys } from '../hooks.js';
import { filesSince, type DiffFile } from '../model/diff.js';
import { type HunkVerdict, openPaths, type Verdict } from '../model/verdicts.js';
import { lineOf, nextRow, searchRows, spoken } from '../model/navigation.js';
import { rowsOf, spotKey, type Layout, type Row, type Spot } from '../model/rows.js';
import { FileList } from './file-list.js';
import { SendBar, SendDialog } from './send.js';
import { useParts, useReview, useUnfolded } from './use-review.js';

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
  const parts = useParts({ stepKey: view.stepKey, proposal }, whole, approval, review);
  const { texts, unfolded, unfold } = useUnfolded(view.stepKey, proposal.id);
  const [layout, setLayout] = useState<Layout>(() =>
    (localStorage.getItem(LAYOUT) ?? (innerWidth > WIDE_px ? 'split' : 'unified')) === 'split' ? 'split' : 'unified',
  );
  const files = useMemo(() => (since === null ? whole : filesSince(whole, since)), [whole, since]);
  const sinceOf = useMemo(() => new Map(since?.files.map((each) => [each.path, each])), [since]);
  const open = approval === null ? [] : openPaths(approval);
  // Of an earlier round, too.
  const settled = view.ledger.flatMap(({ path, verdict: word }) =>
    word === null || approval === null || open.includes(path) ? [] : [[path, word] as const],
  );
  const answered = { ...Object.fromEntries(settled), ...decision?.answered };
  // Beside an earlier version what was seen or decided is put away.
  const [folded, setFolded] = useState<ReadonlySet<string>>(
    () =>
      new Set(
        [...sinceOf.values()].filter(({ is, path }) => is === 'same' || !open.includes(path)).map(({ path }) => path),
      ),
  );
  const [editing, setEditing] = useState<{ readonly spot: Spot; readonly quoted: string } | null>(null);
  const [cursor, setCursor] = useState<string | null>(null);
  const [at, setAt] = useState(0);
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
    [review.comments, editing],
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
  const cursorAt = cursor === null ? -1 : rows.findIndex((row) => row.key === cursor);
  const here = cursorAt === -1 ? at : cursorAt;
  const file = files[rows[here]?.file ?? 0];

  const go = (index: number | null): void => {
    const row = index === null ? undefined : rows[index];
    if (index === null || row === undefined) return;
    setCursor(row.key);
    handle.current?.show(Math.max(0, row.kind === 'file' ? index : index - 2));
  };
  const toFile = (index: number): void => {
    go(rows.findIndex((row) => row.kind === 'file' && row.file === index));
  };
  const verdict = (path: string | undefined, wanted: Verdict | null): void => {
    if (path !== undefined && open.includes(path)) review.setVerdict([path], wanted);
  };
  const hunkVerdict = (word: HunkVerdict) => (): void => {
    const row = rows[here];
    const hunk = row === undefined || !('hunk' in row) ? 0 : row.hunk;
    if (file === undefined || hunk < 0 || !open.includes(file.path) || partsOf(file) === null) return;
    review.setHunk(file, hunk, word);
    go(nextRow(rows, here, 1, isHunk));
  };
  const all = (wanted: Verdict): void => {
    review.setVerdict(
      open.filter((path) => !review.verdicts.has(path)),
      wanted,
    );
  };
  const comment = (spot: Spot, text: string | null): void => {
    const quoted =
      editing !== null && spotKey(editing.spot) === spotKey(spot) && editing.quoted !== ''
        ? editing.quoted
        : (review.comments.find((each) => spotKey(each.spot) === spotKey(spot))?.quoted ?? '');
    review.setComment(spot, quoted, text);
    setEditing(null);
  };
  const spot = (place: Spot, quoted: string): void => {
    // A line of an earlier version has no number that the model knows.
    const known = since === null || place.side === 'after' ? place : { ...place, side: 'after' as const, line: 0 };
    if (approval !== null) setEditing({ spot: known, quoted });
  };
  const fold = (path: string): void => {
    const next = new Set(folded);
    if (!next.delete(path)) next.add(path);
    setFolded(next);
  };
  const turn = (): void => {
    const next = layout === 'split' ? 'unified' : 'split';
    localStorage.setItem(LAYOUT, next);
    setLayout(next);
  };
  const commentHere = (): void => {
    const row = rows[here];
    if (row === undefined || file === undefined) return;
    const line = lineOf(row);
    if (line === null) spot({ path: file.path, side: 'after', line: 0 }, '');
    else
      spot(
        { path: file.path, side: line.after === null ? 'before' : 'after', line: line.after ?? line.before ?? 0 },
        line.text,
      );
  };
  const isFile = (row: Row): boolean => row.kind === 'file';
  const isHunk = (row: Row): boolean => row.kind === 'hunk';
  const isLine = (row: Row): boolean => lineOf(row) !== null;
  const toNext = (by: 1 | -1, wanted: (row: Row) => boolean) => (): void => {
    go(nextRow(rows, here, by, wanted));
  };
  const saying = (said: Verdict | null) => (): void => {
    verdict(file?.path, said);
  };
  const wanted = words.trim().toLowerCase();
  const findNext = (): void => {
    go(searchRows(rows, files, wanted, here));
  };
  const ask = (isOpen: boolean) => () => {
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
    A: () => {
      all('approve');
    },
    c: commentHere,
    f: () => {
      if (file !== undefined) fold(file.path);
    },
    v: turn,
    '/': () => search.current?.focus(),
    ...(approval !== null && { Enter: ask(true) }),
  });
  return (
    <section aria-label="Review" class="review">
      <div class="tools">
        <strong class="here">
          <bdi>{file?.path ?? ''}</bdi>
        </strong>
        <span class="spring" />
        <form
          role="search"
          onSubmit={(event) => {
            event.preventDefault();
            findNext();
          }}
        >
          <input
            ref={search}
            type="search"
            aria-label="Search in the changes"
            placeholder="search"
            value={words}
            onInput={(event) => {
              setWords(event.currentTarget.value);
            }}
            onKeyDown={(event) => {
              if (event.key === 'Escape') event.currentTarget.blur();
            }}
          />
        </form>
        <button onClick={turn} aria-pressed={layout === 'split'} class="wide-only">
          Side by side
        </button>
      </div>
      <p class="unseen" aria-live="polite">
        {spoken(rows[cursorAt], file)}
      </p>
      <div class="panes">
        <FileList
          files={files}
          proposal={proposal}
          since={sinceOf}
          at={rows[at]?.file ?? 0}
          verdicts={review.verdicts}
          answered={answered}
          onFile={toFile}
        />
        <DiffView
          rows={rows}
          files={files}
          proposal={proposal}
          handle={handle}
          cursor={cursor}
          search={wanted}
          folded={folded}
          verdicts={review.verdicts}
          answered={answered}
          canAnswer={(path) => open.includes(path)}
          since={sinceOf}
          parts={partsOf}
          needs={since === null ? parts.needs : []}
          onHunk={review.setHunk}
          comments={review.texts}
          editing={editing === null ? null : spotKey(editing.spot)}
          tokens={tokens}
          onAt={setAt}
          onVerdict={verdict}
          onFold={fold}
          onUnfold={unfold}
          onSpot={spot}
          onComment={comment}
          onPointed={(row) => {
            setCursor(row.key);
          }}
        />
      </div>
      {approval !== null && <SendBar open={open} verdicts={review.verdicts} onAll={all} onSend={ask(true)} />}
      {approval !== null && sending && (
        <SendDialog
          stepKey={view.stepKey}
          decision={approval}
          verdicts={review.verdicts}
          comments={review.comments}
          parts={parts}
          onClose={ask(false)}
        />
      )}
    </section>
  );
};
