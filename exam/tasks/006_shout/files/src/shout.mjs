/** The text in capitals, with an exclamation mark. */
export function shout(text) {
  const loud = text.toLowerCase();
  return `${loud}!`;
}
