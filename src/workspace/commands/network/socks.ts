/** The server's side of SOCKS5 (RFC 1928) without authentication: CONNECT alone. */
import type { Socket } from 'node:net';
import type { Dialed } from './dial.js';
import type { Destination } from './policy.js';
import { readBeginning } from './read-beginning.js';

const GREETING_BYTES = 2 + 255; // bound: Longest greeting of SOCKS5: two bytes and 255 methods;
const REQUEST_BYTES = 4 + 1 + 255 + 2; // bound: and longest request, with a name of 255 bytes.

export const SOCKS_VERSION = 5;
const NO_AUTHENTICATION = 0;
const NO_METHOD = 0xff;
const CONNECT = 1;
const REPLY = { ok: 0, refused: 2, unreachable: 4, command: 7 } as const;
const KIND = { ipv4: 1, name: 3, ipv6: 4 } as const;

/** Reads the greeting and the request, connects, and answers. Returns the connection; null: there is none, and the client is closed. */
export async function answerSocks(
  client: Socket,
  dial: (destination: Destination) => Promise<Dialed>,
): Promise<Socket | null> {
  const greeting = await readWhole(client, GREETING_BYTES, (bytes) =>
    bytes.length < 2 ? null : 2 + (bytes[1] ?? 0),
  );
  if (greeting === null) return close(client);
  if (!greeting.subarray(2).includes(NO_AUTHENTICATION))
    return close(client, Buffer.from([SOCKS_VERSION, NO_METHOD]));
  client.write(Buffer.from([SOCKS_VERSION, NO_AUTHENTICATION]));
  const request = await readWhole(client, REQUEST_BYTES, requestLength);
  if (request === null || request[0] !== SOCKS_VERSION) return close(client);
  if (request[1] !== CONNECT) return close(client, reply(REPLY.command));
  const dialed = await dial(destinationOf(request));
  if (!dialed.ok) return close(client, reply(dialed.isRefused ? REPLY.refused : REPLY.unreachable));
  client.write(reply(REPLY.ok));
  return dialed.socket;
}

/** Names the unspecified address, as no client needs to know where the connection begins. */
const reply = (code: number): Buffer =>
  Buffer.from([SOCKS_VERSION, code, 0, KIND.ipv4, 0, 0, 0, 0, 0, 0]);

const close = (client: Socket, last?: Buffer): null => {
  if (last === undefined) client.destroy();
  else client.end(last, () => client.destroySoon());
  return null;
};

function requestLength(bytes: Buffer): number | null {
  if (bytes.length < 5) return null;
  switch (bytes[3]) {
    case KIND.ipv4:
      return 10;
    case KIND.ipv6:
      return 22;
    case KIND.name:
      return 7 + (bytes[4] ?? 0);
    default:
      return 0;
  }
}

function destinationOf(request: Buffer): Destination {
  const port = request.readUInt16BE(request.length - 2);
  const address = request.subarray(request[3] === KIND.name ? 5 : 4, request.length - 2);
  if (request[3] === KIND.ipv4) return { host: address.join('.'), port };
  if (request[3] === KIND.name) return { host: address.toString('latin1'), port };
  const groups = Array.from({ length: 8 }, (_, index) =>
    address.readUInt16BE(index * 2).toString(16),
  );
  return { host: groups.join(':'), port };
}

/** Returns a message, and leaves what follows unread; null: it is malformed, or the connection ended. Its first bytes give its length (null: too few, 0: malformed). */
const readWhole = (
  client: Socket,
  most: number,
  lengthOf: (bytes: Buffer) => number | null,
): Promise<Buffer | null> =>
  readBeginning<Buffer | null>(client, (bytes) => {
    const length = lengthOf(bytes);
    if (length === 0 || (length ?? 0) > most) return { value: null, length_bytes: bytes.length };
    if (length === null || bytes.length < length) return null;
    return { value: bytes.subarray(0, length), length_bytes: length };
  }).catch(() => null);
