export function terminalSvg(shown: {
  readonly output: string;
  readonly columns: number;
  readonly title: string;
}): string;
