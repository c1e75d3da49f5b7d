/**
 * Writes the seccomp filter that a sandbox loads: a program for the kernel, as numbers, which looks at each system call. It refuses calls that
 * the namespaces of a sandbox do not hold back, and calls that tests do not need and that have led out of sandboxes.
 */
import { endianness } from 'node:os';

/** Bytes of the filter for `bwrap --seccomp`; null: Emend knows no numbers of system calls for this machine. */
export const seccompFilter = (architecture: string = process.arch): Uint8Array | null => {
  const numbers = ARCHITECTURES[architecture];
  return numbers === undefined || endianness() !== 'LE' ? null : encoded(program(numbers));
};

interface Architecture {
  /** AUDIT_ARCH_* of the kernel: calls of a 32-bit program have another one, and other numbers. */
  readonly audit: number;
  /** Calls from this number on belong to another ABI of the same architecture (x32); null: there is none. */
  readonly otherAbi: number | null;
  readonly calls: Readonly<Record<Call, number>>;
}
type Call = keyof typeof X86_64;

const X86_64 = {
  ioctl: 16,
  socket: 41,
  socketpair: 53,
  clone: 56,
  kexec_load: 246,
  add_key: 248,
  request_key: 249,
  keyctl: 250,
  unshare: 272,
  perf_event_open: 298,
  fanotify_init: 300,
  open_by_handle_at: 304,
  kexec_file_load: 320,
  bpf: 321,
  userfaultfd: 323,
  io_uring_setup: 425,
  io_uring_enter: 426,
  io_uring_register: 427,
} as const;

const ARCHITECTURES: Readonly<Record<string, Architecture>> = {
  x64: { audit: 0xc000003e, otherAbi: 0x40000000, calls: X86_64 },
  arm64: {
    audit: 0xc00000b7,
    otherAbi: null,
    calls: {
      ioctl: 29,
      socket: 198,
      socketpair: 199,
      clone: 220,
      kexec_load: 104,
      add_key: 217,
      request_key: 218,
      keyctl: 219,
      unshare: 97,
      perf_event_open: 241,
      fanotify_init: 262,
      open_by_handle_at: 265,
      kexec_file_load: 294,
      bpf: 280,
      userfaultfd: 282,
      io_uring_setup: 425,
      io_uring_enter: 426,
      io_uring_register: 427,
    },
  },
};

const EPERM = 1;
/** Libraries that try a new call first take an older one. */
const ENOSYS = 38;
const EPROTONOSUPPORT = 93;
/** Error of a kernel without this family of sockets. */
const EAFNOSUPPORT = 97;

/** Refused whatever the arguments are. */
const REFUSED: Readonly<Partial<Record<Call, number>>> = {
  // Keyrings are in no namespace: a command would read keys of the worker's session, and leave some there for later commands.
  keyctl: EPERM,
  add_key: EPERM,
  request_key: EPERM,
  // Its operations run without a system call that a filter sees.
  io_uring_setup: ENOSYS,
  io_uring_enter: ENOSYS,
  io_uring_register: ENOSYS,
  // They widen what a command reaches in the kernel, and no test of a project needs them.
  userfaultfd: EPERM,
  fanotify_init: EPERM,
  bpf: EPERM,
  perf_event_open: EPERM,
  kexec_load: EPERM,
  kexec_file_load: EPERM,
  // A handle names a file that no mount shows.
  open_by_handle_at: EPERM,
};

const FAMILIES = { unix: 1, inet: 2, inet6: 10, netlink: 16 } as const;
const NETLINK_ROUTE = 0;
const CLONE_NEWUSER = 0x10000000;
/** They type into the terminal of the worker. */
const TERMINAL_REQUESTS = { TIOCSTI: 0x5412, TIOCLINUX: 0x541c } as const;

// Instructions of classic BPF, each of 8 bytes: what it does, where it jumps if its comparison is true or false, and a number.

interface Instruction {
  readonly code: number;
  readonly ifTrue: number;
  readonly ifFalse: number;
  readonly value: number;
}
const INSTRUCTION_BYTES = 8;
const LOAD = 0x20;
const JUMP_IF_EQUAL = 0x15;
const JUMP_IF_AT_LEAST = 0x35;
const JUMP_IF_ANY_BIT = 0x45;
const RETURN = 0x06;
const RETURN_ALLOW = 0x7fff0000;
const RETURN_ERROR = 0x00050000;

/** Offsets in `struct seccomp_data`. The kernel itself takes only the lower half of the arguments that are looked at here. */
const NUMBER_AT = 0;
const AUDIT_AT = 4;
const argumentAt = (index: number): number => 16 + 8 * index;

const instruction = (code: number, value: number, ifTrue = 0, ifFalse = 0): Instruction => ({
  code,
  ifTrue,
  ifFalse,
  value,
});
const load = (offset: number): Instruction => instruction(LOAD, offset);
const refuse = (errno: number): Instruction => instruction(RETURN, RETURN_ERROR | errno);
const allow = instruction(RETURN, RETURN_ALLOW);
/** Returns the instructions `then` after one that skips them unless its comparison is true. */
const whenever = (code: number, value: number, then: readonly Instruction[]): Instruction[] => [
  instruction(code, value, 0, then.length),
  ...then,
];

function program({ audit, otherAbi, calls }: Architecture): readonly Instruction[] {
  const on = (call: Call, then: readonly Instruction[]): Instruction[] =>
    whenever(JUMP_IF_EQUAL, calls[call], then);
  return [
    load(AUDIT_AT),
    // 32-bit programs cannot run: the filter does not know their numbers.
    instruction(JUMP_IF_EQUAL, audit, 1, 0),
    refuse(ENOSYS),
    load(NUMBER_AT),
    ...(otherAbi === null ? [] : whenever(JUMP_IF_AT_LEAST, otherAbi, [refuse(ENOSYS)])),
    ...Object.entries(REFUSED).flatMap(([call, errno]) => on(call as Call, [refuse(errno)])),
    ...on('socket', ONLY_USED_FAMILIES),
    ...on('socketpair', ONLY_USED_FAMILIES),
    ...on('ioctl', [
      load(argumentAt(1)),
      ...Object.values(TERMINAL_REQUESTS).flatMap((request) =>
        whenever(JUMP_IF_EQUAL, request, [refuse(EPERM)]),
      ),
      allow,
    ]),
    ...on('clone', NO_USER_NAMESPACE),
    ...on('unshare', NO_USER_NAMESPACE),
    allow,
  ];
}

/** A command needs no other family than these. A namespace of networks does not contain AF_VSOCK. */
const ONLY_USED_FAMILIES: readonly Instruction[] = [
  load(argumentAt(0)),
  ...[FAMILIES.unix, FAMILIES.inet, FAMILIES.inet6].flatMap((family) =>
    whenever(JUMP_IF_EQUAL, family, [allow]),
  ),
  // Programs list the network's addresses by it.
  ...whenever(JUMP_IF_EQUAL, FAMILIES.netlink, [
    load(argumentAt(2)),
    ...whenever(JUMP_IF_EQUAL, NETLINK_ROUTE, [allow]),
    refuse(EPROTONOSUPPORT),
  ]),
  refuse(EAFNOSUPPORT),
];

/** Bubblewrap's `--disable-userns` also stops clone3, whose flags a filter cannot see. */
const NO_USER_NAMESPACE: readonly Instruction[] = [
  load(argumentAt(0)),
  ...whenever(JUMP_IF_ANY_BIT, CLONE_NEWUSER, [refuse(EPERM)]),
  allow,
];

function encoded(instructions: readonly Instruction[]): Uint8Array {
  const bytes = Buffer.alloc(instructions.length * INSTRUCTION_BYTES);
  instructions.forEach(({ code, ifTrue, ifFalse, value }, index) => {
    const offset = index * INSTRUCTION_BYTES;
    bytes.writeUInt16LE(code, offset);
    bytes.writeUInt8(ifTrue, offset + 2);
    bytes.writeUInt8(ifFalse, offset + 3);
    bytes.writeUInt32LE(value >>> 0, offset + 4);
  });
  return bytes;
}
