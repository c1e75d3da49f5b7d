/** The files of a proposal: their `diff --stat`, and the tree of them with verdicts, marks and findings, which leads to each. */
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { CHANGE_WORDS, SINCE_WORDS } from '../../../shared/event-text.js';
import type { ProposalSummary } from '../../../shared/proposal-activities.js';
import { count, linesChanged } from '../../../shared/text.js';
import { toggled } from '../hooks.js';
import type { DiffViewProps } from '../diff/heads.js';
import { treeRows, type TreeRow } from '../model/tree.js';
import { Search } from './parts.js';

/** More are folded at first. */
const STAT_SHOWN = 20;
const BAR_chars = 20;

export const DiffStat = ({ proposal }: { readonly proposal: ProposalSummary }) => {
  const { files } = proposal;
  const { added, removed } = linesChanged(proposal);
  const most = Math.max(BAR_chars, ...files.map((file) => file.added + file.removed));
  const wide = Math.min(60, Math.max(...files.map(({ path }) => path.length)));
  const bar = (sign: string, lines: number): string =>
    sign.repeat(Math.ceil((lines * BAR_chars) / most));
  return (
    <details class="box lazy" open={files.length <= STAT_SHOWN}>
      <summary>
        {count(files.length, 'file')} changed, {count(added, 'insertion')}(+),{' '}
        {count(removed, 'deletion')}(-)
      </summary>
      <pre tabIndex={0} aria-label="Changed lines by file">
        {files.map((file) => (
          <div key={file.path}>
            {file.path.padEnd(wide)} | {file.added + file.removed}{' '}
            <span class="plus">{bar('+', file.added)}</span>
            <span class="minus">{bar('-', file.removed)}</span>
          </div>
        ))}
      </pre>
    </details>
  );
};

type Shown = Pick<
  DiffViewProps,
  'files' | 'proposal' | 'since' | 'viewed' | 'verdicts' | 'answered'
>;
interface FileTreeProps extends Shown {
  /** Index of the file at the upper edge of the diff. */
  readonly at: number;
  readonly onFile: (index: number) => void;
}

export const FileTree = ({
  files,
  proposal,
  since,
  at,
  viewed,
  verdicts,
  answered,
  onFile,
}: FileTreeProps) => {
  const [words, setWords] = useState('');
  const [closed, setClosed] = useState<ReadonlySet<string>>(new Set());
  const [active, setActive] = useState<string | null>(null);
  const nav = useRef<HTMLElement>(null);
  const rows = useMemo(
    () => treeRows(files, (path) => path.toLowerCase().includes(words.toLowerCase()), closed),
    [files, words, closed],
  );
  const sums = useMemo(() => new Map(proposal.files.map((file) => [file.path, file])), [proposal]);
  // A thousand rows are not compared each time that the diff beside them moves.
  const items = useMemo(
    () =>
      rows.map(({ path, name, depth, file }, index) => {
        const sum = file === null ? undefined : sums.get(path);
        const asking = proposal.findings.filter(
          (each) => each.path === path && each.severity !== 'note',
        ).length;
        const said = answered.has(path) ? `${answered.get(path)}, sent` : verdicts.get(path);
        return (
          <li
            key={path}
            id={`tree-${index}`}
            role="treeitem"
            aria-level={depth}
            aria-expanded={file === null ? !closed.has(path) : undefined}
            style={{ paddingLeft: `${depth * 0.8}rem` }}
            title={path}
          >
            <bdi class="file-name">{name}</bdi>
            {viewed.has(path) && <span class="tag">viewed</span>}
            {asking > 0 && <span class="tag warn">{asking} to look at</span>}
            {since.has(path) && (
              <span class="quiet">{SINCE_WORDS[since.get(path)?.is ?? 'same']}</span>
            )}
            {said !== undefined && <span class={`tag ${said}`}>{said}</span>}
            {sum !== undefined && (
              <span class="sums">
                <span class="plus">+{sum.added}</span> <span class="minus">-{sum.removed}</span>{' '}
                {CHANGE_WORDS[sum.change]}
              </span>
            )}
          </li>
        );
      }),
    [rows, sums, viewed, verdicts, JSON.stringify([...answered]), since],
  );
  const here = rows.findIndex(({ file }) => file === at);
  const activeAt = active === null ? here : rows.findIndex(({ path }) => path === active);
  /** Gives one row what the others have not, and brings it into sight, scrolling nothing but the tree. */
  const single = (attribute: string, index: number): void => {
    const [box, item] = [nav.current, document.getElementById(`tree-${index}`)];
    for (const each of box?.querySelectorAll(`[${attribute}]`) ?? [])
      each.removeAttribute(attribute);
    item?.setAttribute(attribute, 'true');
    if (box === null || item === null) return;
    const top = item.offsetTop - box.scrollTop;
    if (top < 0 || top + item.offsetHeight > box.clientHeight)
      box.scrollTop = item.offsetTop - box.clientHeight / 2;
  };
  useEffect(() => single('data-active', activeAt), [activeAt, items]);
  useEffect(() => single('aria-current', here), [here, items]);
  const fold = (path: string) => () => setClosed(toggled(closed, path));
  const open = ({ path, file }: TreeRow): void => {
    setActive(path);
    if (file === null) fold(path)();
    else onFile(file);
  };
  const pressed = (event: KeyboardEvent): void => {
    const row = rows[activeAt] ?? rows[0];
    if (row === undefined) return;
    const move = (index: number) => () =>
      setActive(rows[Math.max(0, Math.min(rows.length - 1, index))]?.path ?? null);
    const isOpen = row.file === null && !closed.has(row.path);
    const above = rows.findLastIndex(({ depth }, index) => index < activeAt && depth < row.depth);
    const go = (): void => open(row);
    const keys: Readonly<Record<string, () => void>> = {
      ArrowDown: move(activeAt + 1),
      ArrowUp: move(activeAt - 1),
      Home: move(0),
      End: move(rows.length - 1),
      ArrowRight: row.file !== null || isOpen ? move(activeAt + 1) : fold(row.path),
      ArrowLeft: isOpen ? fold(row.path) : move(above),
      Enter: go,
      ' ': go,
    };
    if (keys[event.key] === undefined) return;
    event.preventDefault();
    keys[event.key]?.();
  };
  return (
    <nav ref={nav} class="file-list" aria-label="Changed files">
      {files.length > 8 && <Search label="Search files" value={words} onWords={setWords} />}
      <ul
        role="tree"
        aria-label="Files"
        tabIndex={0}
        aria-activedescendant={activeAt < 0 ? undefined : `tree-${activeAt}`}
        onKeyDown={pressed}
        onBlur={() => setActive(null)}
        onClick={({ target }) => {
          const row = rows[Number((target as HTMLElement).closest('li')?.id.slice('tree-'.length))];
          if (row !== undefined) open(row);
        }}
      >
        {items}
      </ul>
    </nav>
  );
};
