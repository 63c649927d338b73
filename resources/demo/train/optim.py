"""Muon for matrices, Adam for everything else. Full-precision master weights here, bfloat16
working weights in the model; `quantise` makes the working weights pass through the file formats
(see quant.py)."""
import torch

import quant

ADAM = ("token_embd", "output.weight", "patch_embd", "position_embd", "glyph")
RATE = {
    "token_embd": 2.5, "output.weight": 1.0, "patch_embd": 0.5, "position_embd": 1.0, "glyph": 1.0
}


def newton_schulz(g):
    """[n, r, c] -> nearest (semi-)orthogonal matrices, five quintic steps in bfloat16"""
    x = g.bfloat16()
    flip = x.shape[-2] > x.shape[-1]
    if flip:
        x = x.mT
    x = x / (x.norm(dim=(-2, -1), keepdim=True) + 1e-7)
    for _ in range(5):
        a = x @ x.mT
        x = 3.4445 * x + (-4.7750 * a + 2.0315 * a @ a) @ x
    return x.mT if flip else x


class Optimizer:

    def __init__(self, weights, device, lr_muon=4e-3, lr_adam=2e-3, decay=0.1, file="target"):
        self.master = {n: t.to(device, torch.float32).clone() for n, t in weights.items()}
        self.work = {
            n: t.to(torch.bfloat16).clone().requires_grad_(True)
            for n, t in self.master.items()
        }
        self.muon, self.adam = {}, []
        for n, t in self.master.items():
            if t.dim() == 2 and not any(a in n for a in ADAM):
                self.muon.setdefault(tuple(t.shape), []).append(n)
            else:
                self.adam.append(n)
        self.mom = {s: torch.zeros(len(v), *s, device=device) for s, v in self.muon.items()}
        self.m = [torch.zeros_like(self.master[n]) for n in self.adam]
        self.v = [torch.zeros_like(self.master[n]) for n in self.adam]
        self.rate = [next((r for k, r in RATE.items() if k in n), 1.0) for n in self.adam]
        self.lr_muon, self.lr_adam, self.decay = lr_muon, lr_adam, decay
        self.step_no, self.quantise = 0, False
        self.groups = quant.store_groups(self.master, file)

    @torch.no_grad()
    def step(self, scale, momentum=0.95):
        self.step_no += 1
        for s, names in self.muon.items():
            g = torch.stack([self.work[n].grad.float() for n in names])
            m = self.mom[s]
            m.lerp_(g, 1 - momentum)
            u = newton_schulz(g.lerp(m, momentum)).float()
            lr = self.lr_muon * scale
            p = [self.master[n] for n in names]
            torch._foreach_mul_(p, 1 - lr * self.decay)
            torch._foreach_add_(p, list(u.unbind(0)), alpha=-lr * 0.2 * max(s)**0.5)
        g = [self.work[n].grad.float() for n in self.adam]
        b1, b2, t = 0.9, 0.98, self.step_no
        torch._foreach_lerp_(self.m, g, 1 - b1)
        torch._foreach_mul_(self.v, b2)
        torch._foreach_addcmul_(self.v, g, g, 1 - b2)
        den = torch._foreach_sqrt(torch._foreach_div(self.v, 1 - b2**t))
        torch._foreach_add_(den, 1e-10)
        upd = torch._foreach_div(torch._foreach_div(self.m, 1 - b1**t), den)
        torch._foreach_mul_(upd, [-self.lr_adam * scale * r for r in self.rate])
        torch._foreach_add_([self.master[n] for n in self.adam], upd)
        self.refresh()

    @torch.no_grad()
    def refresh(self):
        for n in self.work:
            self.work[n].grad = None
        if self.quantise:
            quant.round_all(self.master, self.work, self.groups)
        else:
            torch._foreach_copy_(list(self.work.values()), list(self.master.values()))
