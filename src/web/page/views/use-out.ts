import { useEffect } from 'preact/hooks';
import type { Live } from '../hooks.js';

/** Once the server says that we are not let in any more, the door is shown. */
export const useOut = ({ link }: Live, onOut: () => void): void => {
  useEffect(() => {
    if (link === 'out') onOut();
  }, [link]);
};
