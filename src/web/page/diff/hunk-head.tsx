/** The head of a hunk: its lines, the verdict on it where its file can be taken in part, and what it needs of other hunks. */
import type { DiffFile } from '../model/parse-diff.js';
import type { HunkVerdict } from '../model/parts.js';
import type { DiffViewProps } from './diff-view.js';

const WORDS: readonly (readonly [HunkVerdict, string, string])[] = [
  ['take', 'Take', 'approve'],
  ['leave', 'Leave', 'skip'],
];

type HunkHeadProps = Pick<DiffViewProps, 'parts' | 'needs' | 'onHunk' | 'answered' | 'canAnswer'> & {
  readonly file: DiffFile;
  readonly hunk: number;
  readonly text: string;
};

export const HunkHead = ({ file, hunk, text, ...props }: HunkHeadProps) => {
  const said = props.canAnswer && !Object.hasOwn(props.answered, file.path) ? props.parts(file) : null;
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
            {left ? ', which you left out' : ''}
          </span>
        );
      })}
      <span class="spring" />
      {said !== null && (
        <span class="verdicts" role="group" aria-label={`Verdict on hunk ${hunk + 1} of ${file.path}`}>
          {WORDS.map(([word, title, look]) => (
            <button
              key={word}
              class={`verdict ${look}`}
              aria-pressed={said.get(hunk) === word}
              onClick={() => {
                props.onHunk(file, hunk, said.get(hunk) === word ? null : word);
              }}
            >
              {title}
            </button>
          ))}
        </span>
      )}
    </div>
  );
};
