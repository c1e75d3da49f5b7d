/** An HTTP proxy before a real server that does what networks and services do now and then: to the requests that `fault` names. */
import { createServer, request, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export type Fault =
  /** No answer, ever. */
  | 'hang'
  /** The connection ends before the request is handed on, */
  | 'reset'
  /** or after: it was carried out, and nobody hears so. */
  | 'reply lost'
  /** Half of the body is handed on, then both connections end. */
  | 'partial upload'
  /** Half of the answer's body comes, then the connection ends, */
  | 'cut'
  /** or nothing more, with the connection open. */
  | 'slow'
  /** One byte of the answer's body is another. */
  | 'damaged'
  /** Handed on so much later. */
  | { readonly delay_ms: number }
  /** This answer, and the request is not handed on. */
  | {
      readonly status: number;
      readonly body?: string;
      readonly headers?: Readonly<Record<string, string>>;
    };

export interface Asked {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: Buffer;
}

export interface FaultyProxy {
  readonly port: number;
  /** Null: as it is. */
  fault: (asked: Asked) => Fault | null;
  /** All requests so far: method and path. */
  readonly seen: string[];
  close(): Promise<void>;
}

/** The next `times` requests that match have the fault. */
export const next = (fault: Fault, match: RegExp, times = 1): FaultyProxy['fault'] => {
  let left = times;
  return ({ method, url }) => (match.test(`${method} ${url}`) && left-- > 0 ? fault : null);
};

const bodyOf = async (message: IncomingMessage): Promise<Buffer> => {
  const chunks: Buffer[] = [];
  for await (const chunk of message) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
};

const answer = (
  response: ServerResponse,
  from: IncomingMessage,
  body: Buffer,
  fault: Fault | null,
): void => {
  response.writeHead(from.statusCode ?? 500, from.headers);
  if (fault === 'cut') response.write(body.subarray(0, body.length / 2), () => response.destroy());
  else if (fault === 'slow') response.write(body.subarray(0, body.length / 2));
  else if (fault === 'damaged')
    response.end(Buffer.from(body.map((byte, at) => (at === 0 ? byte ^ 1 : byte))));
  else response.end(body);
};

/** `to`: the port of the server; requests go on as they came, so that their signatures hold. */
export const startFaultyProxy = async (to: number): Promise<FaultyProxy> => {
  const proxy = { fault: (() => null) as FaultyProxy['fault'], seen: [] as string[] };
  const server = createServer((asked, response) => {
    const { method = '', url = '', headers } = asked;
    proxy.seen.push(`${method} ${url}`);
    const go = async (): Promise<void> => {
      const body = await bodyOf(asked);
      const fault = proxy.fault({ method, url, headers, body });
      if (fault === 'hang') return;
      if (fault === 'reset') return void response.destroy();
      if (typeof fault === 'object' && fault !== null && 'delay_ms' in fault)
        await new Promise((resolve) => setTimeout(resolve, fault.delay_ms));
      else if (typeof fault === 'object' && fault !== null)
        return void response.writeHead(fault.status, fault.headers).end(fault.body);
      const on = request({ host: '127.0.0.1', port: to, method, path: url, headers });
      on.once('error', () => response.destroy());
      if (fault === 'partial upload') {
        on.write(body.subarray(0, body.length / 2), () => on.destroy());
        return;
      }
      on.end(body);
      on.once('response', (from) => {
        bodyOf(from).then(
          (bytes) =>
            fault === 'reply lost' ? response.destroy() : answer(response, from, bytes, fault),
          () => response.destroy(),
        );
      });
    };
    go().catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return Object.assign(proxy, {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  });
};
