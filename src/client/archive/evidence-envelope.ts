/**
 * The envelope of the evidence of a run (DSSE). Its payload is the canonical JSON of the statement. A signature is an armored OpenSSH one.
 * Both are in base64. An envelope without signatures is unsigned.
 */
import { z } from 'zod';

export const PAYLOAD_TYPE = 'application/vnd.in-toto+json';
/** The namespace of the OpenSSH signature. */
export const SIGNATURE_NAMESPACE = 'emend-evidence';

export const ENVELOPE = z.looseObject({
  payloadType: z.string(),
  payload: z.string(),
  signatures: z.array(z.looseObject({ sig: z.string() })),
});
export type Envelope = z.infer<typeof ENVELOPE>;

/** Returns the text that is signed: the pre-authentication encoding of the DSSE protocol. */
export const signedTextOf = (type: string, body: string): string =>
  `DSSEv1 ${Buffer.byteLength(type)} ${type} ${Buffer.byteLength(body)} ${body}`;

export const toBase64 = (text: string): string => Buffer.from(text).toString('base64');
export const fromBase64 = (data: string): string => Buffer.from(data, 'base64').toString('utf8');
