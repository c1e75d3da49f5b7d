/** Options that several commands have. */
import { Option } from 'commander';

export const collect = (value: string, earlier: readonly string[]): readonly string[] => [...earlier, value];
export const json = (): Option => new Option('--json', 'print JSON');
export const live = (): Option =>
  new Option('--live', 'also print what running model calls write, as it arrives').conflicts(['json', 'quiet']);
/** Of the commands that print more than their result: progress, or what to type next. */
export const quiet = (): Option =>
  new Option('--quiet', 'print the result and what went wrong, no progress and no hints');
