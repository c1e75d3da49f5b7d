/** Returns the object of a JSON text; null: the text is no object, or is cut off. */
export const jsonOf = (line: string): object | null => {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === 'object' ? value : null;
  } catch {
    return null;
  }
};
