/** Whose rate a request counts against: where it comes from. Pure. */
import { isIP } from 'node:net';

/** An IPv6 customer has a whole /64: its first four groups. IPv4 in IPv6 is IPv4. */
const placeOfIp = (ip: string): string => {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(ip)?.[1];
  if (mapped !== undefined) return mapped;
  if (isIP(ip) !== 6) return ip;
  const [head = '', tail] = (ip.split('%')[0] ?? '').toLowerCase().split('::');
  const groups = (text: string): string[] => (text === '' ? [] : text.split(':'));
  const [before, after] = [groups(head), groups(tail ?? '')];
  const zeros = tail === undefined ? 0 : Math.max(0, 8 - before.length - after.length);
  const all = [...before, ...Array.from({ length: zeros }, () => '0'), ...after];
  return all
    .slice(0, 4)
    .map((group) => group.replace(/^0+(?=.)/, ''))
    .join(':');
};

/**
 * `proxied`: a proxy stands before the server, and all requests come from its address. It adds whom it heard at the end of
 * `X-Forwarded-For`. Whoever goes round it, or a proxy that lets the header through as it came, can say anything there, so nothing but
 * the fairness between addresses may hang on it.
 */
export const addressOf = (
  peer: string | undefined,
  forwarded: string | string[] | undefined,
  proxied: boolean,
): string => {
  const told = proxied ? [forwarded].flat().join(',').split(',').at(-1)?.trim() : undefined;
  return placeOfIp(told !== undefined && isIP(told) !== 0 ? told : (peer ?? ''));
};
