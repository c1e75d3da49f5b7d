import { expect, test } from '@jest/globals';
import {
  bytesOf,
  innermost,
  kindOf,
} from '../../../../src/workspace/commands/network/addresses.js';

const KINDS = {
  public: [
    '1.1.1.1',
    '9.255.255.255',
    '11.0.0.0',
    '100.63.255.255',
    '100.128.0.0',
    '126.255.255.255',
    '128.0.0.0',
    '169.253.255.255',
    '172.15.255.255',
    '172.32.0.0',
    '192.167.255.255',
    '192.169.0.0',
    '223.255.255.255',
    '2606:4700::1',
    '::ffff:1.1.1.1',
    '64:ff9b::1.1.1.1',
    '2002:101:101::',
  ],
  loopback: [
    '127.0.0.1',
    '127.255.255.255',
    '0.0.0.0',
    '0.1.2.3',
    '::1',
    '::',
    '0:0:0:0:0:0:0:1',
    '::ffff:127.0.0.1',
    '::ffff:7f00:1',
    '::127.0.0.1',
    '::ffff:0:127.0.0.1',
    '64:ff9b::127.0.0.1',
    '64:ff9b::7f00:1',
    '2002:7f00:1::',
    '2002:7f00:0001:1:2:3:4:5',
  ],
  private: [
    '10.0.0.0',
    '10.255.255.255',
    '172.16.0.1',
    '172.31.255.255',
    '192.168.1.1',
    '100.64.0.1',
    '100.127.255.255',
    '198.18.0.1',
    'fc00::1',
    'fdff::1',
    'fec0::1',
    '::ffff:10.0.0.1',
    '64:ff9b::10.0.0.1',
    '64:ff9b:1::1',
    '2002:a00:1::',
  ],
  'link-local': ['169.254.169.254', 'fe80::1', 'fe80::1%eth0', 'febf::1', '::ffff:169.254.169.254'],
  reserved: [
    '224.0.0.1',
    '255.255.255.255',
    '240.0.0.1',
    '192.0.0.1',
    'ff02::1',
    '100::1',
    '2001::1',
    '4000::1',
    '::ffff:224.0.0.1',
  ],
} as const;

test.each(Object.entries(KINDS).flatMap(([kind, list]) => list.map((address) => [address, kind])))(
  '%s is %s',
  (address, kind) => {
    expect(kindOf(bytesOf(address) ?? [])).toBe(kind);
  },
);

test('text that is no address is none, also in notations that only the resolver reads', () => {
  for (const text of ['', 'a.b', '127.1', '2130706433', '0x7f.0.0.1', '[::1]', '1.2.3.4.5', '::g'])
    expect(bytesOf(text)).toBeNull();
});

test('an address in an address is found', () => {
  const inner = ['::ffff:1.2.3.4', '64:ff9b::1.2.3.4', '2002:102:304::9', '::1.2.3.4'].map(
    (address) => innermost(bytesOf(address) ?? []),
  );
  expect(inner).toEqual(inner.map(() => [1, 2, 3, 4]));
});
