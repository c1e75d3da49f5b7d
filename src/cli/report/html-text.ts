/** Text of others in HTML: never markup, never a change of direction or an invisible character. Pure. */
import { plain } from '../render/text.js';

const ENTITY: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

export const html = (text: string): string => plain(text).replace(/[&<>"']/g, (character) => ENTITY[character] ?? '');
