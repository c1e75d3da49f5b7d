/**
 * Writes the seccomp filter that a sandbox loads: a program for the kernel, as numbers, which looks at each system call. It refuses calls that
 * the namespaces of a sandbox do not hold back, and calls that tests do not need and that have led out of sandboxes.
 */
import { endianness } from 'node:os';

export interface FilterOptions {
  readonly architecture?: string;
  /** The command writes directories that other users may reach. A program with a setuid or setgid bit there would lend them the worker's rights. */
  readonly refusesSetId?: boolean;
}
/** Returns the bytes of the filter for `bwrap --seccomp`; null: Emend knows no numbers of system calls for this machine. */
export const seccompFilter = ({
  architecture = process.arch,
  refusesSetId = false,
}: FilterOptions = {}): Uint8Array | null => {
  const numbers = ARCHITECTURES[architecture];
  return numbers === undefined || endianness() !== 'LE'
    ? null
    : encoded(program(numbers, refusesSetId));
};

interface Architecture {
  /** AUDIT_ARCH_* of the kernel: calls of a 32-bit program have another one, and other numbers. */
  readonly audit: number;
  /** Calls from this number on belong to another ABI of the same architecture (x32); null: there is none. */
  readonly otherAbi: number | null;
  /** Numbers of the calls; null: this architecture has no such call. */
  readonly calls: Readonly<Record<Call, number | null>>;
}
type Call = keyof typeof X86_64;

const X86_64 = {
  open: 2,
  ioctl: 16,
  socket: 41,
  socketpair: 53,
  clone: 56,
  creat: 85,
  chmod: 90,
  fchmod: 91,
  mknod: 133,
  kexec_load: 246,
  add_key: 248,
  request_key: 249,
  keyctl: 250,
  openat: 257,
  mknodat: 259,
  fchmodat: 268,
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
  openat2: 437,
  fchmodat2: 452,
} as const;

const ARCHITECTURES: Readonly<Record<string, Architecture>> = {
  x64: { audit: 0xc000003e, otherAbi: 0x40000000, calls: X86_64 },
  arm64: {
    audit: 0xc00000b7,
    otherAbi: null,
    calls: {
      open: null,
      ioctl: 29,
      mknodat: 33,
      fchmod: 52,
      fchmodat: 53,
      openat: 56,
      socket: 198,
      socketpair: 199,
      clone: 220,
      creat: null,
      chmod: null,
      mknod: null,
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
      openat2: 437,
      fchmodat2: 452,
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

function program(
  { audit, otherAbi, calls }: Architecture,
  refusesSetId: boolean,
): readonly Instruction[] {
  const on = (call: Call, then: readonly Instruction[]): Instruction[] => {
    const number = calls[call];
    return number === null ? [] : whenever(JUMP_IF_EQUAL, number, then);
  };
  const modeCalls = refusesSetId ? Object.entries(MODE_CALLS) : [];
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
    ...modeCalls.flatMap(([call, then]) => on(call as Call, then)),
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

/** The kernel takes no such bits from `mkdir`, so directories that inherit their group still can be made. */
const SET_ID_BITS = 0o6000;
const CREATING_FLAGS = { O_CREAT: 0o100, O_TMPFILE: 0o20000000 } as const;

const refuseSetId = (modeIndex: number): readonly Instruction[] => [
  load(argumentAt(modeIndex)),
  ...whenever(JUMP_IF_ANY_BIT, SET_ID_BITS, [refuse(EPERM)]),
  allow,
];
/** Without these flags the kernel reads no mode. */
const refuseSetIdOfNew = (flagsIndex: number, modeIndex: number): readonly Instruction[] => [
  load(argumentAt(flagsIndex)),
  ...whenever(
    JUMP_IF_ANY_BIT,
    CREATING_FLAGS.O_CREAT | CREATING_FLAGS.O_TMPFILE,
    refuseSetId(modeIndex),
  ),
  allow,
];

/** Calls that give a file its mode. */
const MODE_CALLS: Readonly<Partial<Record<Call, readonly Instruction[]>>> = {
  chmod: refuseSetId(1),
  fchmod: refuseSetId(1),
  fchmodat: refuseSetId(2),
  fchmodat2: refuseSetId(2),
  creat: refuseSetId(1),
  mknod: refuseSetId(1),
  mknodat: refuseSetId(2),
  open: refuseSetIdOfNew(1, 2),
  openat: refuseSetIdOfNew(2, 3),
  // Its mode is in memory, which a filter cannot read. Libraries take openat instead.
  openat2: [refuse(ENOSYS)],
};

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
