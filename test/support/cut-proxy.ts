/** A TCP proxy that tests put between two parts: it hands on what comes, holds one direction back, or cuts off. On a port of the system's. */
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

export const cutProxy = async (to: string) => {
  const pairs = new Set<readonly [from: Socket, on: Socket]>();
  const proxy = createServer((from) => {
    const on = connect(Number(to.split(':').at(-1)), '127.0.0.1');
    const pair = [from, on] as const;
    pairs.add(pair);
    for (const each of pair)
      each
        .on('error', () => undefined)
        .once('close', () => {
          pairs.delete(pair);
          for (const one of pair) one.destroy();
        });
    from.pipe(on).pipe(from);
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  const drop = (): void => [...pairs].flat().forEach((each) => each.destroy());
  return {
    address: `127.0.0.1:${(proxy.address() as AddressInfo).port}`,
    /** What is asked does not arrive, yet; what is answered does. */
    hold: () => {
      for (const [from] of pairs) from.unpipe().pause();
    },
    /** What is asked arrives; what is answered does not, yet. */
    holdAnswers: () => {
      for (const [, on] of pairs) on.unpipe().pause();
    },
    letGo: () => {
      for (const [from, on] of pairs) {
        from.unpipe().pipe(on);
        on.unpipe().pipe(from);
      }
    },
    /** Whoever had got through is cut off; who comes then gets through. */
    drop,
    close: () => {
      drop();
      proxy.close();
    },
  };
};
export type CutProxy = Awaited<ReturnType<typeof cutProxy>>;
