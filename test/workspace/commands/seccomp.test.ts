/** The filter of system calls, run here as the kernel runs it, also for the architecture that this machine does not have. */
import { expect, test } from '@jest/globals';
import { seccompFilter } from '../../../src/workspace/commands/index.js';

interface SystemCall {
  readonly audit: number;
  readonly number: number;
  readonly arguments?: readonly number[];
}
const ALLOWED = 'allowed';

/** Interprets the four kinds of instructions that the filter has. */
const decision = (architecture: string, call: SystemCall, refusesSetId = false): string => {
  const filter = Buffer.from(seccompFilter({ architecture, refusesSetId }) ?? []);
  const data = new Map([
    [0, call.number],
    [4, call.audit],
    ...(call.arguments ?? []).map((value, index): [number, number] => [16 + 8 * index, value]),
  ]);
  let accumulator = 0;
  for (let offset = 0; offset < filter.length; offset += 8) {
    const value = filter.readUInt32LE(offset + 4);
    const skip = (holds: boolean): void =>
      void (offset += 8 * filter.readUInt8(offset + (holds ? 2 : 3)));
    const code = filter.readUInt16LE(offset);
    if (code === 0x20) accumulator = data.get(value) ?? 0;
    else if (code === 0x15) skip(accumulator === value);
    else if (code === 0x35) skip(accumulator >= value);
    else if (code === 0x45) skip((accumulator & value) !== 0);
    else if (code === 0x06) return value === 0x7fff0000 ? ALLOWED : `error ${value - 0x00050000}`;
    else throw new Error(`instruction ${code}`);
  }
  throw new Error('the filter ends without a decision');
};

const X64 = { architecture: 'x64', audit: 0xc000003e };
const ARM64 = { architecture: 'arm64', audit: 0xc00000b7 };
const [EPERM, ENOSYS, EPROTONOSUPPORT, EAFNOSUPPORT] = [1, 38, 93, 97].map((n) => `error ${n}`);

test.each([
  // x86-64: asm/unistd_64.h
  [X64, 'read', 0, [], ALLOWED],
  [X64, 'keyctl', 250, [], EPERM],
  [X64, 'io_uring_setup', 425, [], ENOSYS],
  [X64, 'socket AF_UNIX', 41, [1, 1, 0], ALLOWED],
  [X64, 'socket AF_VSOCK', 41, [40, 1, 0], EAFNOSUPPORT],
  [X64, 'socket AF_NETLINK route', 41, [16, 3, 0], ALLOWED],
  [X64, 'socket AF_NETLINK audit', 41, [16, 3, 9], EPROTONOSUPPORT],
  [X64, 'socketpair AF_UNIX', 53, [1, 1, 0], ALLOWED],
  [X64, 'ioctl TIOCGWINSZ', 16, [0, 0x5413], ALLOWED],
  [X64, 'ioctl TIOCSTI', 16, [0, 0x5412], EPERM],
  [X64, 'clone of a thread', 56, [0x3d0f00], ALLOWED],
  [X64, 'clone of a user namespace', 56, [0x10000011], EPERM],
  [X64, 'x32', 0x40000000, [], ENOSYS],
  // arm64: asm-generic/unistd.h
  [ARM64, 'read', 63, [], ALLOWED],
  [ARM64, 'keyctl', 219, [], EPERM],
  [ARM64, 'userfaultfd', 282, [], EPERM],
  [ARM64, 'io_uring_enter', 426, [], ENOSYS],
  [ARM64, 'socket AF_INET6', 198, [10, 1, 0], ALLOWED],
  [ARM64, 'socket AF_ALG', 198, [38, 5, 0], EAFNOSUPPORT],
  [ARM64, 'ioctl TIOCLINUX', 29, [0, 0x541c], EPERM],
  [ARM64, 'unshare of a user namespace', 97, [0x10000000], EPERM],
] as const)('%j: %s', ({ architecture, audit }, _, number, values, expected) => {
  expect(decision(architecture, { audit, number, arguments: values })).toBe(expected);
});

const [CREAT, TMPFILE] = [0o101, 0o20200001];
test.each([
  [X64, 'chmod', 90, [0, 0o4755], EPERM],
  [X64, 'chmod without the bits', 90, [0, 0o1777], ALLOWED],
  [X64, 'fchmod', 91, [3, 0o2755], EPERM],
  [X64, 'fchmodat', 268, [-100, 0, 0o6755], EPERM],
  [X64, 'fchmodat2', 452, [-100, 0, 0o4755, 0], EPERM],
  [X64, 'open of a new file', 2, [0, CREAT, 0o4755], EPERM],
  [X64, 'open without a mode', 2, [0, 1, 0o4755], ALLOWED],
  [X64, 'openat of a new file', 257, [-100, 0, CREAT, 0o2755], EPERM],
  [X64, 'openat of a file without a name', 257, [-100, 0, TMPFILE, 0o4755], EPERM],
  [X64, 'openat without the bits', 257, [-100, 0, CREAT, 0o644], ALLOWED],
  [X64, 'creat', 85, [0, 0o4755], EPERM],
  [X64, 'mkdir, where the kernel drops them', 83, [0, 0o2775], ALLOWED],
  [X64, 'mknod', 133, [0, 0o104755, 0], EPERM],
  [X64, 'mknodat', 259, [-100, 0, 0o104755, 0], EPERM],
  [X64, 'openat2', 437, [], ENOSYS],
  [ARM64, 'fchmod', 52, [3, 0o4755], EPERM],
  [ARM64, 'fchmodat', 53, [-100, 0, 0o4755], EPERM],
  [ARM64, 'fchmodat2', 452, [-100, 0, 0o2755, 0], EPERM],
  [ARM64, 'openat of a new file', 56, [-100, 0, CREAT, 0o4755], EPERM],
  [ARM64, 'openat without the bits', 56, [-100, 0, CREAT, 0o755], ALLOWED],
  [ARM64, 'mknodat', 33, [-100, 0, 0o104755, 0], EPERM],
  [ARM64, 'openat2', 437, [], ENOSYS],
] as const)(
  'setuid and setgid where a command writes for real, %j: %s',
  ({ architecture, audit }, _, number, values, expected) => {
    const call = { audit, number, arguments: values };
    expect(decision(architecture, call, true)).toBe(expected);
    expect(decision(architecture, call)).toBe(ALLOWED);
  },
);

test('refuses every call of a program for another architecture', () => {
  const I386 = 0x40000003;
  expect(decision('x64', { audit: I386, number: 4 })).toBe(ENOSYS);
  expect(decision('arm64', { audit: X64.audit, number: 0 })).toBe(ENOSYS);
});

test('has no filter for an architecture whose numbers it does not know', () => {
  expect(seccompFilter({ architecture: 'riscv64' })).toBeNull();
});
