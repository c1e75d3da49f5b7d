/** How fast something may come, from one address and from all: by a clock of the test. */
import { expect, test } from '@jest/globals';
import { addressOf } from '../../src/web/http.js';
import { addressBound } from '../../src/web/sessions.js';

let time = 0;
const bound = (addresses = 100) =>
  addressBound(
    { each: { burst: 3, perSecond: 1 }, all: { burst: 10, perSecond: 2 }, addresses },
    () => time,
  );
const heard = (rate: ReturnType<typeof bound>, address: string, tries: number): number =>
  Array.from({ length: tries }, () => rate.take(address)).filter(Boolean).length;

test('one address that tries without end shuts out no other', () => {
  const rate = bound();
  expect(heard(rate, '192.0.2.1', 10_000)).toBe(3);
  expect(heard(rate, '192.0.2.2', 3)).toBe(3);
  time += 2_000;
  expect(heard(rate, '192.0.2.1', 10_000)).toBe(2);
});

test('many addresses together are bounded', () => {
  const rate = bound();
  const of = (n: number): string => `192.0.2.${n}`;
  expect(Array.from({ length: 50 }, (_, n) => heard(rate, of(n), 1)).reduce((a, b) => a + b)).toBe(
    10,
  );
  time += 1_000;
  expect(Array.from({ length: 50 }, (_, n) => heard(rate, of(n), 1)).reduce((a, b) => a + b)).toBe(
    2,
  );
});

test('the address that was silent the longest is forgotten first', () => {
  const rate = bound(2);
  heard(rate, 'a', 3);
  heard(rate, 'b', 1);
  expect(heard(rate, 'a', 1)).toBe(0);
  heard(rate, 'c', 1);
  expect(heard(rate, 'a', 1)).toBe(0);
  expect(heard(rate, 'b', 3)).toBe(3);
});

test.each([
  ['192.0.2.7', undefined, false, '192.0.2.7'],
  ['::ffff:192.0.2.7', undefined, false, '192.0.2.7'],
  ['::1', undefined, false, '0:0:0:0'],
  ['2001:db8:0:1:aaaa::1', undefined, false, '2001:db8:0:1'],
  ['2001:0DB8::1:bbbb:0:2', undefined, false, '2001:db8:0:0'],
  ['fe80::1%eth0', undefined, false, 'fe80:0:0:0'],
  // Without a proxy anybody can write the header.
  ['192.0.2.7', '198.51.100.1', false, '192.0.2.7'],
  ['127.0.0.1', 'lie, 203.0.113.9, 198.51.100.1', true, '198.51.100.1'],
  ['127.0.0.1', '198.51.100.1, not an address', true, '127.0.0.1'],
  ['127.0.0.1', undefined, true, '127.0.0.1'],
  [undefined, undefined, false, ''],
])('%p, forwarded for %p, behind a proxy: %p', (peer, forwarded, proxied, address) => {
  expect(addressOf(peer, forwarded, proxied)).toBe(address);
});
