/** `--quiet`: a command prints its result, what waits for a person and what went wrong; not what it does meanwhile, nor what to type next. */
import type { Io } from './io.js';

export interface QuietFlag {
  readonly quiet?: true;
}

/** What `--quiet` leaves out. */
export interface Asides extends Pick<Io, 'out' | 'err'> {
  /** The rest of a line, after what is printed either way. */
  after(text: string): string;
}

export const asides = ({ out, err }: Pick<Io, 'out' | 'err'>, { quiet }: QuietFlag): Asides =>
  quiet === true
    ? { out: () => undefined, err: () => undefined, after: () => '' }
    : { out, err, after: (text) => text };
