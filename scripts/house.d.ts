export function house(
  root: string,
  limits: Readonly<Record<string, { readonly most: number; readonly why: string }>>,
): { readonly says: readonly string[]; readonly worse: readonly string[] };
