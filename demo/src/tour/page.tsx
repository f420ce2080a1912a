/** The guided tour: chapters, and the scene of the one that is open. */
import { useEffect, useRef, useState } from 'preact/hooks';
import { useTheme } from '../view/theme.ts';
import { useLive } from '../view/use-live.ts';
import { TourControls } from './controls.tsx';
import { FenceEdges } from './fence-edges.tsx';
import { Figures } from './figures.tsx';
import { HostList } from './host-list.tsx';
import { JobList } from './job-list.tsx';
import type { Line, Moment } from './moment.ts';
import { PageList } from './page-list.tsx';
import type { TourPlayer, TourState } from './player.ts';
import { RequestList } from './request-list.tsx';
import type { Scene } from './scene.ts';

export function TourPage({ player }: { player: TourPlayer }) {
  const state = useLive(player);
  const { status, scene, moments, at, chosen, problem } = state;
  useAddress(player, state);
  const moment = moments.at(at);
  return (
    <main
      class="tour"
      data-status={status}
      data-chapter={scene.id}
      data-moment={at + 1}
      data-moments={moments.length}
      data-chosen={scene.choices.map(({ name }) => `${name}=${chosen[name]}`).join(' ')}
      data-mismatches={moment?.cache?.mismatches ?? ''}
    >
      <header class="masthead">
        <div>
          <h1>A tour of the cache</h1>
          <p class="lead">
            While a language model reads, it keeps notes of every word: its <b>KV cache</b>, for keys and
            values. Each chapter runs the real cache in this page, with short texts given in advance instead
            of a model, and draws what is read from it. More: <a href="./index.html">a whole run, live</a>,
            and <a href="./text.html">a model that writes</a>.
          </p>
        </div>
      </header>
      <nav class="chapters" aria-label="Chapters">
        <ol>
          {player.scenes.map((one) => (
            <li key={one.id}>
              <a
                href={`#${one.id}`}
                aria-current={one === scene ? 'page' : undefined}
                onClick={(event) => {
                  event.preventDefault();
                  void player.openScene(one);
                }}
              >
                {one.title}
              </a>
            </li>
          ))}
        </ol>
      </nav>
      <Head scene={scene} number={player.scenes.indexOf(scene) + 1} />
      <div class="tour-top">
        <TourControls player={player} state={state} />
        {moment && (
          <section class="panel caption" aria-labelledby="moment-title">
            <h3 id="moment-title">{moment.title}</h3>
            <p role="status" data-caption>
              {moment.caption}
            </p>
          </section>
        )}
      </div>
      {problem !== null && (
        <div class="problem" role="alert">
          <b>This chapter could not be played</b>
          <p>{problem}</p>
        </div>
      )}
      {moment && <Shown key={scene.id} moment={moment} moments={moments} at={at} />}
    </main>
  );
}

function Head({ scene, number }: { scene: Scene; number: number }) {
  return (
    <section class="chapter-head" aria-labelledby="chapter-title">
      <div>
        <h2 id="chapter-title">
          {number}. {scene.title}
        </h2>
        <p>{scene.about}</p>
        <p class="look">
          <b>Look</b> {scene.look}
        </p>
      </div>
      <dl class="glossary">
        {scene.words.map(([word, meaning]) => (
          <div key={word}>
            <dt>{word}</dt>
            <dd>{meaning}</dd>
          </div>
        ))}
      </dl>
    </section>
  );
}

function Shown({ moment, moments, at }: { moment: Moment; moments: readonly Moment[]; at: number }) {
  const theme = useTheme();
  const stage = useRef<HTMLDivElement>(null);
  const [selected, setSelected] = useState<number | null>(null);
  const { cache, names, deeds, figures, marked } = moment;
  if (cache === null) return <Figures figures={figures} />;
  return (
    <div ref={stage} class="stage columns">
      <div class="column wide">
        <Figures figures={figures} />
        <PageList moment={moment} cache={cache} theme={theme} selected={selected} onSelect={setSelected} />
        <HostList moment={moment} cache={cache} theme={theme} />
      </div>
      <div class="column narrow">
        {deeds.length > 0 && <Lines name="deeds" title="What this step did, in this order" lines={deeds} />}
        <JobList cache={cache} names={names} />
        <RequestList cache={cache} names={names} />
        {selected === null ? (
          <Lines name="log" title="What happened since the moment before" lines={moment.log} />
        ) : (
          <Lines
            name="log"
            title={`What happened to page ${selected}`}
            lines={storyOf(selected, moments.slice(0, at + 1))}
          />
        )}
      </div>
      <FenceEdges within={stage} cache={cache} marked={marked.pages} />
    </div>
  );
}

function Lines({ name, title, lines }: { name: string; title: string; lines: readonly Line[] }) {
  return (
    <section class={`panel tour-lines ${name}`} aria-label={title}>
      <h3>{title}</h3>
      {lines.length === 0 && <p class="empty">Nothing.</p>}
      <ol>
        {lines.map(({ text }, i) => (
          <li key={i}>{text}</li>
        ))}
      </ol>
    </section>
  );
}

/** Everything about one page so far. */
function storyOf(page: number, moments: readonly Moment[]): Line[] {
  return moments.flatMap(({ title, log, deeds }) =>
    [...log, ...deeds]
      .filter(({ pages }) => pages.includes(page))
      .map(({ text, pages }) => ({ text: `${title}: ${text}`, pages })),
  );
}

/** The address follows what is shown, and what is shown follows an address that is typed or gone back to. */
function useAddress(player: TourPlayer, { status, scene, chosen, at }: TourState): void {
  useEffect(() => {
    const read = () => {
      if (location.hash !== `#${player.address}`) void player.openAddress(location.hash);
    };
    addEventListener('hashchange', read);
    return () => removeEventListener('hashchange', read);
  }, [player]);
  useEffect(() => {
    if (status === 'ready') history.replaceState(null, '', `#${player.address}`);
  }, [status, scene, chosen, at]);
}
