/** A TCP proxy that tests put between two parts: it hands on what comes, holds back what is asked, or is cut. On a port of the system's. */
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

export const cutProxy = async (to: string) => {
  const pairs = new Set<readonly [from: Socket, on: Socket]>();
  let isCut = false;
  const proxy = createServer((from) => {
    if (isCut) {
      from.destroy();
      return;
    }
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
    from.pipe(on);
    on.pipe(from);
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  const end = (): void => [...pairs].flat().forEach((each) => each.destroy());
  return {
    address: `127.0.0.1:${(proxy.address() as AddressInfo).port}`,
    /** What is asked does not arrive, yet; what is answered does. */
    hold: () => {
      for (const [from] of pairs) from.unpipe().pause();
    },
    /** What is asked arrives; what is answered does not. */
    holdAnswers: () => {
      for (const [, on] of pairs) on.unpipe().pause();
    },
    /** Whoever had got through is cut off. */
    drop: end,
    letGo: () => {
      for (const [from, on] of pairs) from.pipe(on);
    },
    /** Nobody gets through, and whoever had is cut off. */
    cut: () => {
      isCut = true;
      end();
    },
    mend: () => {
      isCut = false;
    },
    close: () => {
      end();
      proxy.close();
    },
  };
};
export type CutProxy = Awaited<ReturnType<typeof cutProxy>>;
