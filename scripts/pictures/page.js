/** The review page of a client, for a browser on this machine. Needs `dist`. */
import { loadAssets, startWeb } from '../../dist/src/web/server.js';

/** `address()`: the newest one that opens it, each good for one visit; `url`: where it serves. */
export const openPage = async (emend, person) => {
  let address = '';
  const { url, close } = await startWeb({
    host: '127.0.0.1',
    port: 0,
    secret: null,
    publicUrl: null,
    person,
    assets: await loadAssets(),
    source: () => Promise.resolve(emend),
    onAddress: (next) => (address = next),
    onError: (error) => console.error(error),
  });
  return { url, close, address: () => address };
};
