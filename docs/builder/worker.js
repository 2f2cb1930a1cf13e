/* Browsers start no Worker from a page that was opened as a file, and the search needs one. There,
 * an invisible frame runs the worker's script; messages go both ways as a worker's would. */
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.onmessage = this.onerror = null;
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      document.documentElement.appendChild(this.frame);
      const inside = this.frame.contentWindow;
      inside.postMessage = (data) =>
        setTimeout(() => {
          const event = new MessageEvent("message", { data });
          if (this.onmessage) this.onmessage(event);
          this.dispatchEvent(event);
        });
      inside.importScripts = (...names) =>
        Promise.all(names.map((name) => this.load(new URL(name, new URL(url, location)).href)));
      this.ready = this.load(new URL(url, location).href);
    }
    load(url) {
      const within = this.frame.contentDocument;
      return new Promise((done) => {
        const script = within.createElement("script");
        script.src = url;
        script.onload = done;
        within.body.appendChild(script);
      });
    }
    postMessage(data) {
      const deliver = () => {
        const inside = this.frame.contentWindow;
        const event = new inside.MessageEvent("message", { data });
        inside.dispatchEvent(event); // also calls inside.onmessage
      };
      this.ready.then(() => setTimeout(deliver));
    }
    terminate() {
      this.frame.remove();
    }
  };
}
