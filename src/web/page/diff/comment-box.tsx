/** A comment beside the line that it is about: kept, or being written. */
import { useEffect, useRef, useState } from 'preact/hooks';
import type { Spot } from '../model/rows.js';

interface CommentBoxProps {
  readonly spot: Spot;
  readonly text: string;
  readonly editing: boolean;
  /** Null: no comment here (any more). */
  readonly onComment: (spot: Spot, text: string | null) => void;
  readonly onSpot: (spot: Spot, quoted: string) => void;
}

export const CommentBox = ({ spot, text, editing, onComment, onSpot }: CommentBoxProps) => {
  const [typed, setTyped] = useState(text);
  const field = useRef<HTMLTextAreaElement>(null);
  useEffect(() => {
    if (editing) field.current?.focus({ preventScroll: true });
  }, [editing]);
  const where = spot.line === 0 ? 'the file' : `line ${spot.line}${spot.side === 'before' ? ' (before)' : ''}`;
  if (!editing)
    return (
      <div class="comment">
        <p>
          <strong>Your comment on {where}:</strong> {text}
        </p>
        <button
          onClick={() => {
            onSpot(spot, '');
          }}
        >
          Edit
        </button>
        <button
          onClick={() => {
            onComment(spot, null);
          }}
        >
          Remove
        </button>
      </div>
    );
  const keep = (): void => {
    onComment(spot, typed.trim() === '' ? null : typed.trim());
  };
  return (
    <div class="comment">
      <label>
        What to change at {where}
        <textarea
          ref={field}
          rows={3}
          value={typed}
          onInput={(event) => {
            setTyped(event.currentTarget.value);
          }}
          onKeyDown={(event) => {
            if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) keep();
            if (event.key === 'Escape') onComment(spot, text === '' ? null : text);
          }}
        />
      </label>
      <button class="main" onClick={keep}>
        Keep
      </button>
      <button
        onClick={() => {
          onComment(spot, text === '' ? null : text);
        }}
      >
        Cancel
      </button>
    </div>
  );
};
