import { expect, test } from '@jest/globals';
import {
  ipv6Of,
  localIpv4,
  machineAddresses,
} from '../../../../src/workspace/commands/network/machine-addresses.js';
import { isOfMachine } from '../../../../src/workspace/commands/network/policy.js';

const FIB_TRIE = `Local:
  +-- 0.0.0.0/1 2 0 2
     |-- 10.77.0.5
        /32 host LOCAL
     |-- 10.79.0.0
        /24 link UNICAST
     |-- 10.80.0.0
        /16 host LOCAL
        /24 link UNICAST
     |-- 10.79.0.255
        /32 link BROADCAST
`;

test('reads the addresses and ranges that a routing table lists as local', () => {
  expect(localIpv4(FIB_TRIE)).toEqual(['10.77.0.5', '10.80.0.0/16']);
});

test('reads IPv6 addresses, also of interfaces that are down', () => {
  expect(ipv6Of('fd770000000000000000000000000005 05 40 00 c0       d3\n')).toEqual([
    'fd77:0000:0000:0000:0000:0000:0000:0005',
  ]);
});

test('each address of a local range is of the machine, in any notation', () => {
  const own = localIpv4(FIB_TRIE);
  for (const address of ['10.80.3.4', '::ffff:10.80.3.4', '10.77.0.5'])
    expect(isOfMachine(address, own)).toBe(true);
  for (const address of ['10.81.0.1', '10.77.0.6', 'fd77::5'])
    expect(isOfMachine(address, own)).toBe(false);
});

test('lists loopback of this machine', () => {
  expect(machineAddresses()).toContain('127.0.0.1');
});
