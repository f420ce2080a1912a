import { it } from 'vitest';
import { cacheConfigSchema, transferConfigSchema } from '../../src/config.ts';
import { WebGpuWorker } from '../../src/gpu/worker.ts';
import { HostMemory } from '../../src/host-memory.ts';
import { acquireAdapter } from '../../src/runtime/acquire.ts';
import { jobId, pageId, slotId } from '../../src/units.ts';
import { plan } from '../gpu/support/pool.ts';
it('p', async () => {
  const { adapter } = await acquireAdapter();
  const device = await adapter.requestDevice();
  const host = new HostMemory({ slots: 1024, slotBytes: 65536 });
  host.view(slotId(0), 1024).fill(1);
  const w = await WebGpuWorker.create({ device, cache: cacheConfigSchema.parse({ pages: 1100, pageBytes: 65536, tokensPerPage: 16 }), transfer: transferConfigSchema.parse({ acknowledgementLag: 'as-they-come' }), host, witness: false });
  let step = 0;
  for (let r = 0; r < 25; r++) {
    const t0 = performance.now();
    let sync = 0, n = 0; const marks: string[] = [];
    const job = { id: jobId(r), pages: Array.from({ length: 1024 }, (_, i) => pageId(i + 1)), slots: Array.from({ length: 1024 }, (_, i) => slotId(i)) };
    const go = async (p: any) => { const t = performance.now(); const pr = w.execute(p); const s = performance.now() - t; sync += s; await pr; n++; marks.push(s.toFixed(2) + '/' + (performance.now() - t).toFixed(2)); };
    await go(plan(++step, { stores: [job] }));
    while (w.busy) await go(plan(++step));
    const ms = performance.now() - t0;
    console.log(ms.toFixed(1), 'ms', (67.1 / ms).toFixed(2), 'GB/s', n, 'steps, sync', sync.toFixed(1), r > 21 ? marks.join(' ') : '');
  }
  await w.close(); device.destroy();
});
