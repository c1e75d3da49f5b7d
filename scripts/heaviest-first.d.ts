export interface Dealt<T> {
  readonly seconds: number;
  readonly tests: readonly T[];
}
export function shares<T extends { readonly path: string }>(
  tests: readonly T[],
  count: number,
): readonly Dealt<T>[];
