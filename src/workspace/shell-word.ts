/** A path as one word of a shell, for what a person is told to type. */
export const shellWord = (path: string): string => `'${path.replaceAll("'", `'\\''`)}'`;
