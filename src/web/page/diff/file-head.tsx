/** The head of a file in the diff: its name, what it is, and the verdict on it. */
import type { Verdict } from '../model/requests.js';
import type { DiffFile } from '../model/parse-diff.js';
import type { DiffViewProps } from './diff-view.js';

const VERDICTS: readonly (readonly [Exclude<Verdict, 'select'>, string])[] = [
  ['approve', 'Approve'],
  ['skip', 'Skip'],
  ['revise', 'Revise'],
];

type FileHeadProps = Pick<
  DiffViewProps,
  'proposal' | 'parts' | 'verdicts' | 'answered' | 'canAnswer' | 'folded' | 'onFold' | 'onVerdict' | 'onSpot'
> & { readonly file: DiffFile };

export const FileHead = ({ file, ...props }: FileHeadProps) => {
  const sealed = props.proposal.files.find((each) => each.path === file.path);
  const verdict = props.verdicts.get(file.path) ?? null;
  const answered = Object.hasOwn(props.answered, file.path) ? props.answered[file.path] : undefined;
  return (
    <div class="file-head">
      <button
        class="plain path"
        aria-expanded={!props.folded.has(file.path)}
        onClick={() => {
          props.onFold(file.path);
        }}
      >
        {file.movedFrom !== null && (
          <span class="quiet">
            {file.movedFrom} {'->'}{' '}
          </span>
        )}
        <bdi>{file.path}</bdi>
      </button>
      <Change file={file} />
      {sealed !== undefined && (
        <span class="sums">
          <span class="plus">+{sealed.added}</span> <span class="minus">-{sealed.removed}</span>
        </span>
      )}
      {sealed?.by === 'person' && <span class="tag">changed by hand</span>}
      {verdict === 'select' && (
        <span class="tag select">
          {[...(props.parts(file) ?? new Map()).values()].filter((word) => word === 'take').length} of{' '}
          {file.hunks.length} hunks
        </span>
      )}
      <span class="spring" />
      {answered !== undefined && <span class="tag">{answered} recorded</span>}
      {answered === undefined && props.canAnswer && (
        <span class="verdicts" role="group" aria-label={`Verdict on ${file.path}`}>
          {VERDICTS.map(([each, word]) => (
            <button
              key={each}
              class={`verdict ${each}`}
              aria-pressed={verdict === each}
              onClick={() => {
                props.onVerdict(file.path, verdict === each ? null : each);
              }}
            >
              {word}
            </button>
          ))}
          <button
            class="verdict"
            onClick={() => {
              props.onSpot({ path: file.path, side: 'after', line: 0 }, '');
            }}
          >
            Comment
          </button>
        </span>
      )}
    </div>
  );
};

const Change = ({ file }: { readonly file: DiffFile }) => {
  const words = [
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
