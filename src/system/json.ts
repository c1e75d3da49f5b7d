/** Returns the object of a JSON text; null: it is none, or not whole. */
export const jsonOf = (line: string): object | null => {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === 'object' ? value : null;
  } catch {
    return null;
  }
};
