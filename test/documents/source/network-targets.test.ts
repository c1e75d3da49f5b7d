import { expect, test } from '@jest/globals';
import { networkText, parseConfig, readTarget } from '../../../src/documents/job/index.js';

test.each([
  ['10.0.0.5', { kind: 'address', host: '10.0.0.5', port: null }],
  ['10.0.0.5:5432', { kind: 'address', host: '10.0.0.5', port: 5432 }],
  ['fd00::5', { kind: 'address', host: 'fd00::5', port: null }],
  ['[fd00::5]:443', { kind: 'address', host: 'fd00::5', port: 443 }],
  ['192.168.0.0/16', { kind: 'range', host: '192.168.0.0', prefix: 16, port: null }],
  ['192.168.0.0/16:5432', { kind: 'range', host: '192.168.0.0', prefix: 16, port: 5432 }],
  ['fd00::/8', { kind: 'range', host: 'fd00::', prefix: 8, port: null }],
  ['[fd00::/8]:80', { kind: 'range', host: 'fd00::', prefix: 8, port: 80 }],
  ['DB.internal.', { kind: 'name', host: 'db.internal', port: null }],
  ['my_db:5432', { kind: 'name', host: 'my_db', port: 5432 }],
  ['localhost:5432', { kind: 'name', host: 'localhost', port: 5432 }],
  ['127.0.0.1:80', { kind: 'address', host: '127.0.0.1', port: 80 }],
  ['[::1]:80', { kind: 'address', host: '::1', port: 80 }],
])('reads %s', (written, target) => {
  expect(readTarget(written)).toEqual({ ok: true, target });
});

test.each([
  ['localhost', 'a port for this machine'],
  ['127.0.0.1', 'a port for this machine'],
  ['::1', 'a port for this machine'],
  ['127.0.0.0/8', 'a port for this machine'],
  ['', 'a host name, an address or a range'],
  ['127.1', 'a host name, an address or a range'],
  ['10.0.0.0/33', 'a host name, an address or a range'],
  ['fd00::/129', 'a host name, an address or a range'],
  ['http://x', 'a host name, an address or a range'],
  ['*.internal', 'a host name, an address or a range'],
  ['a b', 'a host name, an address or a range'],
  ["x';id;'", 'a host name, an address or a range'],
  ['db:0', 'a port from 1 to 65535'],
  ['db:65536', 'a port from 1 to 65535'],
])('refuses %j', (written, expected) => {
  expect(readTarget(written)).toMatchObject({
    ok: false,
    expected: expect.stringContaining(expected),
  });
});

test('a wrong entry is named with file and line', () => {
  const read = parseConfig(
    'sandbox:\n  network:\n    allow:\n      - db:5432\n      - localhost\n',
  );
  expect(read).toMatchObject({ ok: false });
  expect(read.ok ? '' : read.problems[0]?.message).toMatch(
    /^emend\.yaml:5: sandbox\.network\.allow\.1: expected a port for this machine, as in localhost:5432/,
  );
  const other = parseConfig('sandbox: {network: maybe}');
  expect(other.ok ? '' : other.problems[0]?.message).toContain('on, off, or a map of network');
  expect(parseConfig('sandbox: {network: {allow: [db]}}')).toMatchObject({
    ok: true,
    value: { sandbox: { network: { allow: ['db'] } } },
  });
});

test('an approval names what is allowed, up to a number', () => {
  expect(networkText(false)).toBeNull();
  expect(networkText(true)).toBe('public addresses');
  expect(networkText({ allow: ['db:5432'] })).toBe('public addresses, db:5432');
  expect(networkText({ allow: ['a', 'b', 'c', 'd', 'e', 'f', 'g'] })).toBe(
    'public addresses, a, b, c, d, e, 2 more of `sandbox.network`',
  );
});
