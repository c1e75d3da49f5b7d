/** What a response tells about itself before its format is known. */
import type { AnswerFormat } from '../shared/formats.js';
import { formatIn } from './detect.js';
import { nonceIn } from './marker.js';
import { withoutThinking } from './thinking/index.js';

/** The format of a response, or null if none is found. Of one that ends within thinking it is that of its drafts: the refusal names the tag. */
export const detectFormat = (response: string): AnswerFormat | null => {
  const { text, fault } = withoutThinking(response, null, undefined);
  return formatIn(text) ?? (fault === null ? null : formatIn(response));
};

/** The nonce of a response's marker line, so that a response kept from a run can be read again; undefined if it has none. */
export const nonceOf = (response: string): string | undefined =>
  nonceIn(withoutThinking(response, null, undefined).text);
