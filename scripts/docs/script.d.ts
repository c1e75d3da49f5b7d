export interface ShellFence {
  readonly words: string;
  readonly text: string;
  /** Of its first command, from 1. */
  readonly line: number;
}
export function shellFences(markdown: string): readonly ShellFence[];
export function commandsOf(text: string): readonly string[];
export function expectedExit(command: string): number;
export function scriptOf(markdown: string): string;
