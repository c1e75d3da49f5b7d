/**
 * ◆ The nonce of a request's completeness marker: the first 80 bits, as 20 lower-case hex digits, of the sha-256 over these bytes:
 *
 *     "emend-nonce" 0x00 <slot key, 64 lower-case hex digits> 0x00 <n in decimal, no leading zeros>
 *
 * (all ASCII). n counts from 0 and is the first whose nonce stands nowhere in the request, so that nothing quoted from a file can
 * pass for the marker. Never change this: a slot's retry makes the same nonce in another process and another version.
 */
import { createHash } from 'node:crypto';

export const nonceFor = (slotKey: string, haystack: string): string => {
  for (let n = 0; ; n++) {
    const nonce = nonceNumber(slotKey, n);
    if (!haystack.includes(nonce)) return nonce;
  }
};

const nonceNumber = (slotKey: string, n: number): string =>
  createHash('sha256').update(`emend-nonce\0${slotKey}\0${n}`, 'ascii').digest('hex').slice(0, 20);
