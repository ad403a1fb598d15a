// Browsers refuse workers to pages opened as files. There, a frame of the page runs the worker's script.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super()
      this.waiting = []
      const frame = document.createElement("iframe")
      frame.hidden = true
      document.documentElement.append(frame)
      const inner = frame.contentWindow
      inner.postMessage = data => this.dispatchEvent(new MessageEvent("message", { data }))
      inner.importScripts = () => undefined
      const script = inner.document.createElement("script")
      script.src = url
      script.onload = () => {
        this.inner = inner
        this.waiting.forEach(data => this.postMessage(data))
      }
      inner.document.head.append(script)
    }
    postMessage(data) {
      if (this.inner) this.inner.dispatchEvent(new MessageEvent("message", { data }))
      else this.waiting.push(data)
    }
    terminate() {}
  }
}
