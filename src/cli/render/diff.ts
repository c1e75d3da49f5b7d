/** A unified diff on a terminal. Piped, it goes out byte for byte instead, so that it can be applied. */
import type { Io } from '../io.js';
import { plain } from './text.js';

export const printDiff = (io: Io, diff: string): void => {
  if (!io.outIsTty) {
    io.write(diff);
    return;
  }
  for (const text of diff.split('\n')) io.out(colored(io, plain(text)));
};

const colored = ({ colors }: Io, text: string): string => {
  if (text.startsWith('+++') || text.startsWith('---') || text.startsWith('diff ')) return colors.bold(text);
  if (text.startsWith('@@')) return colors.cyan(text);
  if (text.startsWith('+')) return colors.green(text);
  if (text.startsWith('-')) return colors.red(text);
  return text;
};
