/** The format and the nonce of a response, read before its format is known. */
import type { AnswerFormat } from '../shared/formats.js';
import { formatIn } from './detect.js';
import { holdsChatFiles } from './dialects/chat-files.js';
import { DIALECTS } from './dialects/index.js';
import { nonceIn } from './marker.js';
import { whatIsSeen } from './seen.js';
import { withoutThinking } from './thinking/index.js';
import { unwrapped } from './wrapper.js';

/**
 * Returns the format of a response, or null if it has none. A response that cannot be used because of its thinking has the format of what
 * is in it, so that the refusal can name the tag.
 */
export const detectFormat = (response: string): AnswerFormat | null => {
  const { text: inner } = unwrapped(response);
  const { text, fault } = withoutThinking(inner, null, undefined);
  return (
    formatIn(text) ??
    (fault === null ? null : formatIn(inner)) ??
    (holdsChatFiles(text, DIALECTS['whole-file'].rules) ? 'whole-file' : null)
  );
};

/** Returns what a response that has no format looks like, and what to send instead. */
export const seenIn = (response: string): string =>
  whatIsSeen(withoutThinking(unwrapped(response).text, null, undefined).text);

/** Returns the nonce of a response's marker line, with which a response kept from a run is read again; undefined if it has none. */
export const nonceOf = (response: string): string | undefined =>
  nonceIn(withoutThinking(unwrapped(response).text, null, undefined).text);
