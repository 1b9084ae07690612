"""Answers worked out in the plainest way, from edges as they were written. No code of the engine."""

import heapq
from collections import defaultdict, deque


class Reference:
    """Edges as triples of source, target and weight."""

    def __init__(self, edges, directed):
        self.edges, self.directed = edges, directed
        self.vertices = sorted({end for edge in edges for end in edge[:2]})
        self.out = defaultdict(list)
        self.neighbors = {vertex: set() for vertex in self.vertices}
        for source, target, weight in edges:
            self.out[source].append((target, weight))
            if not directed:
                self.out[target].append((source, weight))
            if source != target:
                self.neighbors[source].add(target)
                self.neighbors[target].add(source)

    def levels(self, source):
        levels, queue = {source: 0}, deque([source])
        while queue:
            vertex = queue.popleft()
            for target, _ in self.out[vertex]:
                if target not in levels:
                    levels[target] = levels[vertex] + 1
                    queue.append(target)
        return levels

    def distances(self, source):
        distances, queue = {}, [(0, source)]
        while queue:
            distance, vertex = heapq.heappop(queue)
            if vertex not in distances:
                distances[vertex] = distance
                for target, weight in self.out[vertex]:
                    heapq.heappush(queue, (distance + weight, target))
        return distances

    def components(self):
        component = {}
        for first in self.vertices:
            queue = [] if first in component else [first]
            while queue:
                vertex = queue.pop()
                if vertex not in component:
                    component[vertex] = first
                    queue.extend(self.neighbors[vertex])
        return component

    def cores(self):
        left = {vertex: len(near) for vertex, near in self.neighbors.items()}
        queue, cores, k = [(degree, vertex) for vertex, degree in left.items()], {}, 0
        heapq.heapify(queue)
        while queue:
            degree, vertex = heapq.heappop(queue)
            if vertex in cores or degree != left[vertex]:
                continue
            k = max(k, degree)
            cores[vertex] = k
            for near in self.neighbors[vertex]:
                if near not in cores:
                    left[near] -= 1
                    heapq.heappush(queue, (left[near], near))
        return cores

    def triangles(self):
        return sum(len(self.neighbors[a] & self.neighbors[b]) for a in self.vertices for b in self.neighbors[a]) // 6

    def scores(self, iterations, damping=0.85):
        count = len(self.vertices)
        scores = dict.fromkeys(self.vertices, 1 / count)
        for _ in range(iterations):
            lost = sum(score for vertex, score in scores.items() if not self.out[vertex])
            next_scores = dict.fromkeys(self.vertices, (1 - damping + damping * lost) / count)
            for vertex, targets in self.out.items():
                for target, _ in targets:
                    next_scores[target] += damping * scores[vertex] / len(targets)
            scores = next_scores
        return scores
