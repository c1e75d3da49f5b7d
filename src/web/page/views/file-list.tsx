/** The files of a proposal, with verdicts and findings; a click leads there. */
import { useState } from 'preact/hooks';
import { CHANGE_WORDS, SINCE_WORDS, type FileSince } from '../../../shared/event-text.js';
import type { ProposalSummary } from '../../../shared/proposal-activities.js';
import type { DiffFile } from '../model/diff.js';
import type { Verdict } from '../model/verdicts.js';

interface FileListProps {
  readonly files: readonly DiffFile[];
  readonly proposal: ProposalSummary;
  readonly since: ReadonlyMap<string, FileSince>;
  readonly at: number;
  readonly verdicts: ReadonlyMap<string, Verdict>;
  readonly answered: Readonly<Record<string, string>>;
  readonly onFile: (index: number) => void;
}
/** More are found by the search above them. */
const SHOWN = 300;

export const FileList = ({ files, proposal, since, at, verdicts, answered, onFile }: FileListProps) => {
  const [words, setWords] = useState('');
  const wanted = words.toLowerCase();
  const found = files
    .map((file, index) => ({ file, index }))
    .filter(({ file }) => file.path.toLowerCase().includes(wanted));
  const sums = new Map(proposal.files.map((file) => [file.path, file]));
  return (
    <nav class="file-list" aria-label="Changed files">
      {files.length > 8 && (
        <input
          type="search"
          aria-label="Search files"
          placeholder="search files"
          value={words}
          onInput={(event) => {
            setWords(event.currentTarget.value);
          }}
        />
      )}
      <ul>
        {found.slice(0, SHOWN).map(({ file, index }) => {
          const summary = sums.get(file.path);
          const said = Object.hasOwn(answered, file.path)
            ? `${answered[file.path] ?? ''}, sent`
            : verdicts.get(file.path);
          const findings = proposal.findings.filter(
            (finding) => finding.path === file.path && finding.severity !== 'note',
          ).length;
          return (
            <li key={file.path}>
              <button
                class="plain"
                aria-current={index === at ? 'true' : undefined}
                onClick={() => {
                  onFile(index);
                }}
                title={file.path}
              >
                <bdi class="file-name">{file.path}</bdi>
                {findings > 0 && <span class="tag warn">{findings} to look at</span>}
                {since.has(file.path) && <span class="quiet">{SINCE_WORDS[since.get(file.path)?.is ?? 'same']}</span>}
                {said !== undefined && <span class={`tag ${said}`}>{said}</span>}
                {summary !== undefined && (
                  <span class="sums">
                    <span class="plus">+{summary.added}</span> <span class="minus">-{summary.removed}</span>{' '}
                    {CHANGE_WORDS[summary.change]}
                  </span>
                )}
              </button>
            </li>
          );
        })}
      </ul>
      {found.length > SHOWN && <p class="quiet">and {found.length - SHOWN} more</p>}
    </nav>
  );
};
