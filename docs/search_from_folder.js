/* Search in pages that are opened from a folder. Browsers refuse to start a worker there, so its script runs in a
   hidden frame instead, with the part of a worker's interface that the search uses. Nothing happens on a server. */
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(address) {
      super()
      this.onmessage = this.onerror = this.onmessageerror = null
      const source = new URL(address, document.baseURI).href.replace(/"/g, "%22")
      const frame = (this.frame = document.createElement("iframe"))
      frame.hidden = true
      frame.srcdoc =
        "<script>var top_ = parent; self.postMessage = data => top_.postMessage({ search: true, data }, '*')</" +
        'script><script src="' + source + '"></' + "script>"
      this.ready = new Promise(resolve => frame.addEventListener("load", resolve))
      this.listener = event => {
        if (event.source !== frame.contentWindow || !event.data || !event.data.search) return
        const message = new MessageEvent("message", { data: event.data.data })
        this.dispatchEvent(message)
        if (this.onmessage) this.onmessage(message)
      }
      window.addEventListener("message", this.listener)
      document.documentElement.appendChild(frame)
    }
    postMessage(data) {
      this.ready.then(() => this.frame.contentWindow.onmessage({ data }))
    }
    terminate() {
      window.removeEventListener("message", this.listener)
      this.frame.remove()
    }
  }
}
