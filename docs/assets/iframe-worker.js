// Browsers refuse workers to pages that are opened from a folder. There a hidden frame of the page runs the script of the
// search instead. Under http nothing of this is used.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super()
      const frame = document.createElement("iframe")
      frame.hidden = true
      document.body.append(frame)
      this.scope = frame.contentWindow
      this.scope.postMessage = data => this.dispatchEvent(new MessageEvent("message", { data }))
      this.scope.importScripts = (...urls) => Promise.all(urls.map(each => this.load(each)))
      this.ready = this.load(url)
    }

    load(url) {
      return new Promise((resolve, reject) => {
        const script = this.scope.document.createElement("script")
        Object.assign(script, { src: new URL(url, location.href).href, onload: resolve, onerror: reject })
        this.scope.document.body.append(script)
      })
    }

    postMessage(data) {
      this.ready.then(() => this.scope.dispatchEvent(new MessageEvent("message", { data })))
    }

    set onmessage(listener) {
      this.addEventListener("message", listener)
    }

    terminate() {
      this.scope.frameElement.remove()
    }
  }
}
